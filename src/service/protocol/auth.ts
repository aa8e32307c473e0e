import { z } from "zod";
import { NumberInPath, Page, Quota, RowId, Time } from "./common.ts";

export const Role = z.enum(["user", "admin", "superadmin"]).meta({ id: "Role" });
export type Role = z.infer<typeof Role>;

/** Lower-cased on input. */
const Username = z
  .string()
  .toLowerCase()
  .regex(/^[a-z0-9][a-z0-9._@-]{1,63}$/, "2 to 64 of letters, digits and . _ @ -, beginning with a letter or digit");
/** A password that is to be. */
export const NewPassword = z.string().min(8).max(200);
const DisplayName = z.string().max(100);

export const User = z
  .strictObject({
    id: z.int(),
    username: z.string(),
    display_name: z.string(),
    role: Role,
    department_id: z.int().nullable(),
    is_enabled: z.boolean(),
    quota: Quota,
    created_at: Time,
  })
  .meta({ id: "User" });
export type User = z.infer<typeof User>;

export const InitializeBody = z
  .strictObject({
    username: Username,
    password: NewPassword,
    display_name: DisplayName.optional(),
    init_token: z.string().max(1_000).optional(),
  })
  .meta({ id: "InitializeBody" });

/** Other fields of OAuth2's password grant are ignored. */
export const TokenBody = z
  .looseObject({ username: z.string().min(1).max(200), password: z.string().min(1).max(1_000) })
  .meta({ id: "TokenBody" });

export const Token = z
  .strictObject({ access_token: z.string(), token_type: z.literal("bearer"), expires_in: z.int(), user: User })
  .meta({ id: "Token" });

export const Me = z
  .strictObject({
    user: User,
    credential: z.strictObject({ type: z.enum(["jwt", "api_key"]), api_key_id: z.int().optional() }),
  })
  .meta({ id: "Me" });

export const PasswordBody = z
  .strictObject({ old_password: z.string().min(1).max(1_000), new_password: NewPassword })
  .meta({ id: "PasswordBody" });

export const CreateUserBody = z
  .strictObject({
    username: Username,
    password: NewPassword,
    role: Role.default("user"),
    department_id: RowId.nullish(),
    display_name: DisplayName.default(""),
  })
  .meta({ id: "CreateUserBody" });
export type CreateUserBody = z.infer<typeof CreateUserBody>;

export const UpdateUserBody = z
  .strictObject({
    password: NewPassword.optional(),
    display_name: DisplayName.optional(),
    role: Role.optional(),
    department_id: RowId.nullable().optional(),
    is_enabled: z.boolean().optional(),
    quota: Quota.optional(),
  })
  .meta({ id: "UpdateUserBody" });
export type UpdateUserBody = z.infer<typeof UpdateUserBody>;

export const UserPath = z.strictObject({ user_id: NumberInPath });
export const ListQuery = z.strictObject(Page);
export const UserList = z.strictObject({ users: z.array(User), total: z.int() }).meta({ id: "UserList" });
export const UserAnswer = z.strictObject({ user: User }).meta({ id: "UserAnswer" });

export const Department = z
  .strictObject({ id: z.int(), name: z.string(), created_at: Time })
  .meta({ id: "Department" });
export type Department = z.infer<typeof Department>;
export const DepartmentBody = z
  .strictObject({ name: z.string().trim().min(1).max(100) })
  .meta({ id: "DepartmentBody" });
export const DepartmentPath = z.strictObject({ department_id: NumberInPath });
export const DepartmentList = z
  .strictObject({ departments: z.array(Department), total: z.int() })
  .meta({ id: "DepartmentList" });
export const DepartmentAnswer = z.strictObject({ department: Department }).meta({ id: "DepartmentAnswer" });

export const ApiKey = z
  .strictObject({
    id: z.int(),
    key_prefix: z.string(),
    name: z.string(),
    user_id: z.int(),
    is_enabled: z.boolean(),
    expires_at: Time.nullable(),
    last_used_at: Time.nullable(),
    department_id: z.int().nullable(),
    created_by: z.int(),
    created_at: Time,
    quota: Quota,
    source: z.enum(["api", "cli"]),
  })
  .meta({ id: "ApiKey" });
export type ApiKey = z.infer<typeof ApiKey>;

const KeyName = z.string().min(1).max(100);

/** Any offset; kept as UTC with milliseconds, within what both engines keep and ISO 8601 shows with four digits. */
const Expiry = z.iso
  .datetime({ offset: true })
  .refine((text) => {
    const year = new Date(text).getUTCFullYear();
    return year >= 1970 && year <= 9999;
  }, "must be a time of the years 1970 to 9999, UTC")
  .transform((text) => new Date(text));

/** The id of a key's creation. */
export const KeyRequestId = z.string().regex(/^[A-Za-z0-9._:-]{8,64}$/, "8 to 64 of letters, digits and . _ : -");

export const CreateKeyBody = z
  .strictObject({
    request_id: KeyRequestId.optional(),
    name: KeyName,
    expires_at: Expiry.nullish(),
    user_id: RowId.optional(),
    department_id: RowId.nullish(),
    quota: Quota.optional(),
  })
  .meta({ id: "CreateKeyBody" });
export type CreateKeyBody = z.infer<typeof CreateKeyBody>;

export const UpdateKeyBody = z
  .strictObject({
    name: KeyName.nullish(),
    expires_at: Expiry.nullish(),
    is_enabled: z.boolean().nullish(),
    clear_expires_at: z.boolean().nullish(),
    quota: Quota.nullish(),
  })
  .meta({ id: "UpdateKeyBody", description: "null is unchanged." });
export type UpdateKeyBody = z.infer<typeof UpdateKeyBody>;

export const KeyPath = z.strictObject({ api_key_id: NumberInPath });
export const KeyListQuery = z.strictObject({ ...Page, user_id: NumberInPath.optional() });
export const KeyList = z.strictObject({ api_keys: z.array(ApiKey), total: z.int() }).meta({ id: "ApiKeyList" });
export const KeyAnswer = z.strictObject({ api_key: ApiKey }).meta({ id: "ApiKeyAnswer" });
export const KeyCreated = z.strictObject({ api_key: ApiKey, secret: z.string() }).meta({ id: "ApiKeyCreated" });

export const CliSessionBody = z
  .strictObject({ client_name: z.string().min(1).max(100).default("svc") })
  .meta({ id: "CliSessionBody" });
export const CliSessionStarted = z
  .strictObject({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri: z.string(),
    verification_uri_complete: z.string(),
    expires_in: z.int(),
    interval: z.int(),
  })
  .meta({ id: "CliSessionStarted" });
export const CliSession = z
  .strictObject({
    state: z.enum(["pending", "approved", "denied", "consumed"]),
    client_name: z.string(),
    ip: z.string(),
    created_at: Time,
    expires_at: Time,
  })
  .meta({ id: "CliSession" });
export type CliSession = z.infer<typeof CliSession>;
export const CliSessionPath = z.strictObject({ user_code: z.string().min(1).max(20) });
export const CliTokenBody = z.strictObject({ device_code: z.string().min(1).max(200) }).meta({ id: "CliTokenBody" });

export const AuditEntry = z
  .strictObject({
    id: z.int(),
    at: Time,
    actor_id: z.int().nullable(),
    credential: z.string(),
    action: z.string(),
    subject: z.string(),
    ip: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "AuditEntry" });
export type AuditEntry = z.infer<typeof AuditEntry>;
export const AuditQuery = z.strictObject({
  subject: z.string().max(200).optional(),
  before: z.coerce.number().int().min(1).optional(),
  limit: Page.limit,
});
export const AuditList = z.strictObject({ entries: z.array(AuditEntry) }).meta({ id: "AuditList" });

/** `{version: 2, read_scope, manage_scope | null}`: who besides the creator and superadmins may read, and manage. */
const ScopeBody = z.strictObject({
  access_level: z.enum(["global", "department", "user"]),
  department_ids: z.array(RowId).max(1_000).default([]),
  user_uids: z.array(RowId).max(1_000).default([]),
});
export const ShareConfig = z
  .strictObject({
    version: z.literal(2).default(2),
    read_scope: ScopeBody,
    manage_scope: ScopeBody.nullable().default(null),
  })
  .meta({ id: "ShareConfig" });
export type ShareConfig = z.infer<typeof ShareConfig>;
export type Scope = z.infer<typeof ScopeBody>;
