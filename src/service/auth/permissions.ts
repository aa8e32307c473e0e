import { sql, type RawBuilder, type SqlBool } from "kysely";
import { ShareConfig, type Role } from "../protocol/auth.ts";
import { ApiProblem } from "../protocol/problems.ts";
import type { Caller } from "./caller.ts";
import { isInScope } from "./scopes.ts";

/** A user, or the user whose something is, as far as permissions look at one. */
export interface UserSubject {
  readonly id: number;
  readonly role: Role;
  readonly department_id: number | null;
}

/** Something shared: who made it, and the stored share config. */
export interface SharedItem {
  readonly created_by: number | null;
  readonly share_config: unknown;
}

/** Why a caller may do something to a subject. */
interface Ground<Subject> {
  readonly name: string;
  holds(caller: Caller, subject: Subject): boolean;
}

/** The same for a list: the condition on the rows of `account`. */
interface UserGround extends Ground<UserSubject> {
  where(caller: Caller): RawBuilder<SqlBool>;
}

/** The grounds on which each role may do something; none: it may not. */
export type Permission<G> = Readonly<Record<Role, readonly G[]>> & {
  /** No API key may do it, whoever its user is. */
  readonly needsLogin?: true;
};

const all = { name: "all", holds: () => true, where: () => sql<SqlBool>`true` };

const own: UserGround = {
  name: "own",
  holds: ({ userId }, { id }) => id === userId,
  where: ({ userId }) => sql<SqlBool>`account.id = ${userId}`,
};

/** A `user` of the caller's department: an admin neither touches another admin nor who has no department. */
const department: UserGround = {
  name: "department",
  holds: ({ departmentId }, { role, department_id }) =>
    role === "user" && department_id !== null && department_id === departmentId,
  where: ({ departmentId }) => sql<SqlBool>`account.role = 'user' and account.department_id = ${departmentId}::int`,
};

const made: Ground<SharedItem> = {
  name: "own",
  holds: ({ userId }, { created_by }) => created_by === userId,
};

const inReadScope: Ground<SharedItem> = {
  name: "read_scope",
  holds: (caller, { share_config }) => isInScope(caller, readConfig(share_config)?.read_scope),
};

const inManageScope: Ground<SharedItem> = {
  name: "manage_scope",
  holds: (caller, { share_config }) => isInScope(caller, readConfig(share_config)?.manage_scope ?? undefined),
};

/** What is done to the service as a whole. */
const ofService = {
  changeDepartments: { user: [], admin: [], superadmin: [all] },
  readAudit: { user: [], admin: [], superadmin: [all] },
  /** Why the service is not ready, with addresses and what programs printed. */
  readFaults: { user: [], admin: [], superadmin: [all] },
  /** Tasks besides one's own and those on knowledge bases that one manages. */
  manageTasks: { user: [], admin: [], superadmin: [all] },
  makeAgent: { user: [], admin: [all], superadmin: [all] },
  makeBase: { user: [], admin: [all], superadmin: [all] },
} satisfies Record<string, Permission<Ground<unknown>>>;

/** What is done to a user, or to something of a user's. */
const ofUsers = {
  listUsers: { user: [], admin: [department], superadmin: [all] },
  readUser: { user: [own], admin: [own, department], superadmin: [all] },
  makeUser: { user: [], admin: [department], superadmin: [all], needsLogin: true },
  changeUser: { user: [], admin: [department], superadmin: [all], needsLogin: true },
  deleteUser: { user: [], admin: [department], superadmin: [all] },
  readKey: { user: [own], admin: [own, department], superadmin: [all] },
  makeKey: { user: [own], admin: [own, department], superadmin: [all], needsLogin: true },
  changeKey: { user: [own], admin: [own, department], superadmin: [all], needsLogin: true },
  revokeKey: { user: [own], admin: [own, department], superadmin: [all] },
  readUsage: { user: [own], admin: [own, department], superadmin: [all] },
  logOut: { user: [own], admin: [own], superadmin: [own], needsLogin: true },
  decideLogin: { user: [own], admin: [own], superadmin: [own], needsLogin: true },
  changeWebhook: { user: [own], admin: [own], superadmin: [own], needsLogin: true },
} satisfies Record<string, Permission<UserGround>>;

/** What is done to an agent or a knowledge base. */
const ofShared = {
  useAgent: { user: [made, inReadScope], admin: [made, inReadScope], superadmin: [all] },
  manageAgent: { user: [made], admin: [made, inManageScope], superadmin: [all] },
  readBase: { user: [made, inReadScope], admin: [made, inReadScope], superadmin: [all] },
  manageBase: { user: [made], admin: [made, inManageScope], superadmin: [all] },
  addToBase: { user: [], admin: [made, inManageScope], superadmin: [all] },
} satisfies Record<string, Permission<Ground<SharedItem>>>;

/**
 * Who may do what. The only place that knows what a role is: a new role is a column, a new action a row.
 *
 * Threads, requests, runs and webhooks are not in it: they are their user's only, whatever the role, and every query for
 * one asks for that user's (law: not yours is not there).
 */
export const PERMISSIONS = { ...ofService, ...ofUsers, ...ofShared };

/** Whether a caller may do something to a subject. */
export function may<Subject>(caller: Caller, permission: Permission<Ground<Subject>>, subject: Subject): boolean {
  return isByLogin(caller, permission) && permission[caller.role].some((ground) => ground.holds(caller, subject));
}

/** Whether a caller may do it to whatever there is. */
export function mayAll(caller: Caller, permission: Permission<{ readonly name: string }>): boolean {
  return isByLogin(caller, permission) && permission[caller.role].some(({ name }) => name === all.name);
}

/** The rows of `account` that a caller may do it to, as a condition of a query. */
export function whereMay(caller: Caller, permission: Permission<UserGround>): RawBuilder<SqlBool> {
  const grounds = isByLogin(caller, permission) ? permission[caller.role] : [];
  if (grounds.length === 0) return sql<SqlBool>`false`;
  return sql<SqlBool>`(${sql.join(
    grounds.map((ground) => ground.where(caller)),
    sql` or `,
  )})`;
}

/**
 * Refuses whoever may do it to nothing at all, before anything is looked for. What outlives a key is given by a person
 * who has logged in: users, other keys, logins of clients, webhooks. A key could otherwise give itself what it has not,
 * and go on after its end.
 *
 * @throws {ApiProblem} role_required, login_required
 */
export function assertMayAny(caller: Caller, permission: Permission<unknown>): void {
  const { user, admin, superadmin } = permission;
  const grounds = { user, admin, superadmin };
  if (grounds[caller.role].length === 0) {
    const roles = Object.entries(grounds).flatMap(([role, { length }]) => (length === 0 ? [] : [role]));
    throw new ApiProblem("role_required", `this needs the role ${roles.join(" or ")}`);
  }
  if (!isByLogin(caller, permission))
    throw new ApiProblem("login_required", "no API key may do this: log in, and send the token instead of a key");
}

function isByLogin({ credential }: Caller, { needsLogin }: Permission<unknown>): boolean {
  return needsLogin !== true || credential.type === "jwt";
}

/** Reading is tolerant: a scope that cannot be read grants no user anything. */
function readConfig(stored: unknown): ShareConfig | undefined {
  return ShareConfig.safeParse(stored).data;
}
