import { randomUUID } from "node:crypto";
import { sql, type Selectable } from "kysely";
import type { ApiKey, UpdateKeyBody } from "../protocol/auth.ts";
import { Quota } from "../protocol/common.ts";
import { ApiProblem, ValidationProblem } from "../protocol/problems.ts";
import { lockName } from "../storage/advisory-lock.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { ApiKeyTable } from "../storage/tables.ts";
import type { Transaction } from "../storage/transaction.ts";
import type { KnownActor } from "./accounts.ts";
import { writeAudit } from "./audit.ts";
import type { Caller } from "./caller.ts";
import { keyIntentHash, keyIntentHashOfVersion1, sha256, type KeyDerivation } from "./derive.ts";
import { assertMayAny, may, PERMISSIONS, whereMay } from "./permissions.ts";
import { lockUser, missingUser } from "./users.ts";

/** The fields of a new key. */
export interface KeyIntent {
  readonly userId: number;
  readonly requestId: string;
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly departmentId?: number | null | undefined;
  readonly quota?: Quota | undefined;
  readonly source: "api" | "cli";
}

/** API keys: made once for each intent, shown again whenever it is repeated, since the secret can be derived again. */
export type Keys = ReturnType<typeof createKeys>;

const PREFIX_LENGTH = 12;

export function createKeys(storage: Storage, derivation: KeyDerivation) {
  async function create(actor: KnownActor, intent: KeyIntent): Promise<{ api_key: ApiKey; secret: string }> {
    return storage.transaction((trx) => createIn(trx, actor, intent));
  }

  /** In a transaction of the caller's. */
  async function createIn(
    trx: Transaction,
    actor: KnownActor,
    intent: KeyIntent,
  ): Promise<{ api_key: ApiKey; secret: string }> {
    assertMayAny(actor.caller, PERMISSIONS.makeKey);
    const user = await lockUser(trx, intent.userId);
    // Law: not yours is not there.
    if (!may(actor.caller, PERMISSIONS.makeKey, user)) throw missingUser(user.id);
    await lockName(trx, "api_key", intent.userId, intent.requestId);
    const known = await trx
      .selectFrom("api_key")
      .selectAll()
      .where("user_id", "=", intent.userId)
      .where("request_id", "=", intent.requestId)
      .executeTakeFirst();
    if (known !== undefined) return { api_key: showKey(known), secret: repeat(derivation, known, intent) };
    const { departmentId } = intent;
    if (departmentId !== undefined && departmentId !== null && departmentId !== user.department_id) {
      throw new ApiProblem("department_mismatch", "department_id is not that of the user");
    }
    assertInFuture(intent.expiresAt);
    const uid = randomUUID();
    const secret = derivation.secretOf(uid);
    const row = await trx
      .insertInto("api_key")
      .values({
        uid,
        user_id: intent.userId,
        request_id: intent.requestId,
        intent_hash: keyIntentHash(intent),
        key_hash: sha256(secret),
        key_prefix: secret.slice(0, PREFIX_LENGTH),
        name: intent.name,
        expires_at: intent.expiresAt,
        quota: json(intent.quota ?? {}),
        source: intent.source,
        department_id: departmentId ?? user.department_id,
        created_by: actor.caller.userId,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await writeAudit(trx, actor, {
      action: "key.created",
      subject: `api_key:${row.id}`,
      details: { user_id: row.user_id, key_prefix: row.key_prefix, source: row.source },
    });
    return { api_key: showKey(row), secret };
  }

  async function list(
    caller: Caller,
    query: { skip: number; limit: number; user_id?: number | undefined },
  ): Promise<{ api_keys: ApiKey[]; total: number }> {
    let visible = storage.db
      .selectFrom("api_key")
      .innerJoin("account", "account.id", "api_key.user_id")
      .where("api_key.revoked_at", "is", null)
      .where("account.deleted_at", "is", null)
      .where(whereMay(caller, PERMISSIONS.readKey));
    if (query.user_id !== undefined) visible = visible.where("api_key.user_id", "=", query.user_id);
    const rows = await visible
      .selectAll("api_key")
      .orderBy("api_key.id", "desc")
      .offset(query.skip)
      .limit(query.limit)
      .execute();
    const { total } = await visible.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
    return { api_keys: rows.map(showKey), total };
  }

  async function get(caller: Caller, id: number): Promise<ApiKey> {
    return storage.transaction(async (trx) => {
      const row = await findKey(trx, caller, PERMISSIONS.readKey, id);
      if (row.revoked_at !== null) throw missing(id);
      return showKey(row);
    });
  }

  async function update(actor: KnownActor, id: number, body: UpdateKeyBody): Promise<ApiKey> {
    assertMayAny(actor.caller, PERMISSIONS.changeKey);
    assertInFuture(body.expires_at ?? null);
    return storage.transaction(async (trx) => {
      const row = await findKey(trx, actor.caller, PERMISSIONS.changeKey, id);
      if (row.revoked_at !== null) throw missing(id);
      const changed = await trx
        .updateTable("api_key")
        .set({
          name: body.name ?? row.name,
          is_enabled: body.is_enabled ?? row.is_enabled,
          expires_at: body.clear_expires_at === true ? null : (body.expires_at ?? row.expires_at),
          ...(body.quota === undefined || body.quota === null ? {} : { quota: json(body.quota) }),
        })
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirstOrThrow();
      const changes = Object.entries(body).flatMap(([key, value]) =>
        value === undefined || value === null ? [] : [key],
      );
      await writeAudit(trx, actor, { action: "key.updated", subject: `api_key:${id}`, details: { changes } });
      return showKey(changed);
    });
  }

  async function revoke(actor: KnownActor, id: number): Promise<void> {
    await storage.transaction(async (trx) => {
      const row = await findKey(trx, actor.caller, PERMISSIONS.revokeKey, id);
      if (row.revoked_at !== null) return;
      await trx
        .updateTable("api_key")
        .set({ revoked_at: sql<Date>`now()` })
        .where("id", "=", id)
        .execute();
      await writeAudit(trx, actor, {
        action: "key.revoked",
        subject: `api_key:${id}`,
        details: { key_prefix: row.key_prefix },
      });
    });
  }

  return { create, createIn, list, get, update, revoke };
}

/** The secret again. A repeat has to ask for the same; the first difference, in this order, is thrown. @throws {ApiProblem} */
function repeat(derivation: KeyDerivation, known: KeyRow, intent: KeyIntent): string {
  const [secret, intentHash] =
    known.uid === null
      ? [derivation.secretOfVersion1(known.user_id, known.request_id), keyIntentHashOfVersion1(intent)]
      : [derivation.secretOf(known.uid), keyIntentHash(intent)];
  if (known.revoked_at !== null) {
    throw new ApiProblem("key_revoked", "the key of this request_id was revoked; use a new request_id");
  }
  if (!isSame(known.intent_hash, intentHash)) {
    throw new ApiProblem("intent_conflict", "this request_id made a key with other parameters; use a new request_id");
  }
  if (!isSame(known.key_hash, sha256(secret))) {
    throw new ApiProblem(
      "master_key_rotated",
      "the service's key secret has changed since; the key still works, but its secret cannot be shown again: use a new request_id",
    );
  }
  return secret;
}

type KeyRow = Selectable<ApiKeyTable>;

/** Locked, so that two changes at once do not undo each other. @throws {ApiProblem} key_not_found */
async function findKey(
  trx: Transaction,
  caller: Caller,
  permission: (typeof PERMISSIONS)["readKey" | "changeKey" | "revokeKey"],
  id: number,
): Promise<KeyRow> {
  const row = await trx.selectFrom("api_key").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
  if (row === undefined) throw missing(id);
  const user = await trx
    .selectFrom("account")
    .select(["id", "role", "department_id"])
    .where("id", "=", row.user_id)
    .executeTakeFirstOrThrow();
  // Law: not yours is not there.
  if (!may(caller, permission, user)) throw missing(id);
  return row;
}

function missing(id: number): ApiProblem {
  return new ApiProblem("key_not_found", `there is no key ${id}`);
}

/** A key that is over is disabled or revoked, not given a time that has passed. @throws {ValidationProblem} */
function assertInFuture(expiresAt: Date | null): void {
  if (expiresAt === null || expiresAt.getTime() > Date.now()) return;
  throw new ValidationProblem([{ loc: ["body", "expires_at"], msg: "must be in the future", type: "custom" }]);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.from(left).equals(Buffer.from(right));
}

/** A key as the API shows one: never its secret or hash. */
function showKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    key_prefix: row.key_prefix,
    name: row.name,
    user_id: row.user_id,
    is_enabled: row.is_enabled,
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    department_id: row.department_id,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    quota: Quota.parse(row.quota),
    source: row.source,
  };
}
