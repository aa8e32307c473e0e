import { sql } from "kysely";
import { ApiProblem } from "../protocol/problems.ts";
import type { Storage } from "../storage/storage.ts";
import type { Caller } from "./caller.ts";
import { sha256 } from "./derive.ts";
import type { Tokens } from "./jwt.ts";

/** Finds out who calls. */
export interface Credentials {
  /** @throws {ApiProblem} unauthorized, the same for everything that is wrong */
  authenticate(authorization: string | undefined): Promise<Caller>;
  /** Whether it would still be; no use of a key. */
  isAccepted(authorization: string | undefined): Promise<boolean>;
}

const KEY = /^svkey_[0-9a-f]{48}$/;
const TOUCH_MS = 1_000;
/** Keys whose last use is remembered, so that it is not written with every call. */
const MOST_REMEMBERED = 10_000;

export function createCredentials(storage: Storage, tokens: Tokens): Credentials {
  const touchedAt = new Map<number, number>();

  async function fromKey(key: string): Promise<Caller | undefined> {
    if (!KEY.test(key)) return undefined;
    const row = await storage.db
      .selectFrom("api_key")
      .innerJoin("account", "account.id", "api_key.user_id")
      .select(["api_key.id as keyId", "account.id", "account.username", "account.role", "account.department_id"])
      .where("api_key.key_hash", "=", sha256(key))
      .where("api_key.is_enabled", "=", true)
      .where("api_key.revoked_at", "is", null)
      .where((where) =>
        where.or([where("api_key.expires_at", "is", null), where("api_key.expires_at", ">", sql<Date>`now()`)]),
      )
      .where("account.is_enabled", "=", true)
      .where("account.deleted_at", "is", null)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    return {
      userId: row.id,
      username: row.username,
      role: row.role,
      departmentId: row.department_id,
      credential: { type: "api_key", id: row.keyId },
    };
  }

  /** At once at the first use, then at most once a second a key. */
  async function touch(keyId: number): Promise<void> {
    const now = performance.now();
    if (now - (touchedAt.get(keyId) ?? -Infinity) < TOUCH_MS) return;
    if (touchedAt.size >= MOST_REMEMBERED) touchedAt.clear();
    touchedAt.set(keyId, now);
    await storage.db
      .updateTable("api_key")
      .set({ last_used_at: sql<Date>`now()` })
      .where("id", "=", keyId)
      .execute();
  }

  async function fromToken(token: string): Promise<Caller | undefined> {
    const claims = await tokens.verify(token);
    if (claims === undefined) return undefined;
    const row = await storage.db
      .selectFrom("account")
      .select(["id", "username", "role", "department_id"])
      .where("uid", "=", claims.uid)
      .where("epoch", "=", claims.epoch)
      .where("is_enabled", "=", true)
      .where("deleted_at", "is", null)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { id, username, role, department_id } = row;
    return { userId: id, username, role, departmentId: department_id, credential: { type: "jwt" } };
  }

  async function find(authorization: string | undefined): Promise<Caller | undefined> {
    const bearer = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (bearer === undefined) return undefined;
    // Nothing falls through: what begins as a key is one or nothing.
    return bearer.startsWith("svkey_") ? fromKey(bearer) : fromToken(bearer);
  }

  return {
    isAccepted: async (authorization) => (await find(authorization)) !== undefined,
    async authenticate(authorization) {
      const caller = await find(authorization);
      if (caller?.credential.type === "api_key") await touch(caller.credential.id);
      if (caller !== undefined) return caller;
      throw new ApiProblem("unauthorized", "send a valid API key or token as `Authorization: Bearer <token>`");
    },
  };
}
