import { createAuth, type Auth } from "../../../src/service/auth/auth.ts";
import type { KnownActor } from "../../../src/service/auth/accounts.ts";
import type { Caller } from "../../../src/service/auth/caller.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";

/** Of the vector in the design, too. */
export const KEY_SECRET = "kit-key-secret-0123456789abcdefgh";
export const JWT_SECRET = "test-jwt-secret-0123456789abcdefghij";
export const PASSWORD = "correct horse battery";

export function testAuth(
  storage: Storage,
  options: {
    keySecret?: string;
    jwtTtlMs?: number;
    perName?: number;
    perAddress?: number;
    perNameInDay?: number;
    initToken?: string;
  } = {},
): Auth {
  return createAuth({
    storage,
    jwtSecret: JWT_SECRET,
    keySecret: options.keySecret ?? KEY_SECRET,
    jwtTtlMs: options.jwtTtlMs ?? 60_000,
    lockout: {
      perName: options.perName ?? 10,
      perAddress: options.perAddress ?? 1_000,
      windowMs: 600_000,
      perNameInDay: options.perNameInDay ?? 100,
    },
    initToken: options.initToken,
    onUserStopped: async () => undefined,
  });
}

/** A user straight into its row, as cheap as a row. */
export async function makeUser(
  storage: Storage,
  options: { role?: Caller["role"]; departmentId?: number | null; username?: string } = {},
): Promise<KnownActor> {
  const { role = "user", departmentId = null } = options;
  const username = options.username ?? `u${crypto.randomUUID().slice(0, 8)}`;
  const { id } = await storage.db
    .insertInto("account")
    .values({ username, role, department_id: departmentId })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { caller: { userId: id, username, role, departmentId, credential: { type: "jwt" } }, ip: "127.0.0.1" };
}

/** What a token names a user by. */
export async function uidOf(storage: Storage, userId: number): Promise<string> {
  const row = await storage.db.selectFrom("account").select("uid").where("id", "=", userId).executeTakeFirstOrThrow();
  return row.uid;
}

export async function makeDepartment(storage: Storage): Promise<number> {
  const name = `d${crypto.randomUUID()}`;
  return (await storage.db.insertInto("department").values({ name }).returning("id").executeTakeFirstOrThrow()).id;
}
