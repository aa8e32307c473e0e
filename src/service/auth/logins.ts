import { timingSafeEqual } from "node:crypto";
import type { User } from "../protocol/auth.ts";
import { ApiProblem } from "../protocol/problems.ts";
import { lockName } from "../storage/advisory-lock.ts";
import type { Storage } from "../storage/storage.ts";
import type { KnownActor } from "./accounts.ts";
import { writeAudit, type Actor } from "./audit.ts";
import { sha256 } from "./derive.ts";
import { endLogins } from "./end-logins.ts";
import type { Lockout } from "./lockout.ts";
import type { Tokens } from "./jwt.ts";
import { forgetAddresses, rememberAddress } from "./login-addresses.ts";
import { assertGoodPassword, type Passwords } from "./passwords.ts";
import { assertMayAny, PERMISSIONS } from "./permissions.ts";
import { findUser, lockUser, showUser, type AccountRow } from "./users.ts";

export interface IssuedToken {
  readonly token: string;
  readonly expiresInSeconds: number;
  readonly user: User;
}

export interface LoginsOptions {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly tokens: Tokens;
  readonly lockout: Lockout;
  /** Needed to make the first account, where one is set. */
  readonly initToken: string | undefined;
}

/** What people do with their own login, from the first account on. */
export type Logins = ReturnType<typeof createLogins>;

export function createLogins({ storage, passwords, tokens, lockout, initToken }: LoginsOptions) {
  async function issue(row: AccountRow): Promise<IssuedToken> {
    const token = await tokens.sign({ uid: row.uid, epoch: row.epoch });
    return { token, expiresInSeconds: Math.floor(tokens.ttlMs / 1_000), user: showUser(row) };
  }

  async function isFirstRun(): Promise<boolean> {
    return (await storage.db.selectFrom("account").select("id").limit(1).executeTakeFirst()) === undefined;
  }

  async function initialize(
    body: { username: string; password: string; display_name?: string | undefined; init_token?: string | undefined },
    ip: string | null,
  ): Promise<IssuedToken> {
    if (initToken !== undefined && !timingSafeEqual(sha256(body.init_token ?? ""), sha256(initToken))) {
      throw new ApiProblem("init_token_invalid", "init_token is not the one this service was started with");
    }
    assertGoodPassword(body.password, body.username);
    const hash = await passwords.hash(body.password);
    return issue(
      await storage.transaction(async (trx) => {
        await lockName(trx, "initialize");
        const known = await trx.selectFrom("account").select("id").limit(1).executeTakeFirst();
        if (known !== undefined) throw new ApiProblem("already_initialized", "there is an account already; log in");
        const row = await trx
          .insertInto("account")
          .values({
            username: body.username,
            display_name: body.display_name ?? "",
            password_hash: hash,
            role: "superadmin",
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        if (ip !== null) await rememberAddress(trx, row.id, ip);
        await writeAudit(
          trx,
          { ip },
          { action: "user.created", subject: `user:${row.id}`, details: { role: "superadmin", first: true } },
        );
        return row;
      }),
    );
  }

  /** @throws {ApiProblem} login_locked, which is written down */
  async function assertOpen(actor: Actor, ip: string, username: string): Promise<void> {
    try {
      await lockout.assertOpen(ip, username);
    } catch (error) {
      const subject = actor.caller === undefined ? "login" : `user:${actor.caller.userId}`;
      if (error instanceof ApiProblem) await writeAudit(storage.db, actor, { action: "login.locked", subject });
      throw error;
    }
  }

  async function logIn(given: { username: string; password: string }, ip: string): Promise<IssuedToken> {
    const username = given.username.toLowerCase();
    // Counted in the check's own place in the queue: many guesses at once do not pass the limit.
    const outcome = await passwords.inTurn(async (verify) => {
      await assertOpen({ ip }, ip, username);
      const row = await storage.db
        .selectFrom("account")
        .selectAll()
        .where("username", "=", username)
        .where("deleted_at", "is", null)
        .executeTakeFirst();
      const isRight = await verify(row?.password_hash, given.password);
      const isIn = isRight && row?.is_enabled === true;
      if (!isIn) await lockout.countFailure(ip, username);
      return { row, isIn };
    });
    const { row, isIn } = outcome;
    if (!isIn || row === undefined) {
      const subject = row === undefined ? "login" : `user:${row.id}`;
      await writeAudit(storage.db, { ip }, { action: "login.refused", subject });
      throw new ApiProblem("invalid_credentials", "the username or the password is wrong");
    }
    await lockout.clear(ip, username);
    await rememberAddress(storage.db, row.id, ip);
    await writeAudit(storage.db, { ip }, { action: "login.succeeded", subject: `user:${row.id}` });
    return issue(row);
  }

  async function changePassword(
    actor: KnownActor,
    body: { old_password: string; new_password: string },
  ): Promise<IssuedToken> {
    const { caller } = actor;
    assertGoodPassword(body.new_password, caller.username, "new_password");
    const known = await findUser(storage.db, caller.userId);
    const bucketIp = actor.ip ?? "unknown";
    const isRight = await passwords.inTurn(async (verify) => {
      await assertOpen(actor, bucketIp, caller.username);
      const right = await verify(known.password_hash, body.old_password);
      if (!right) await lockout.countFailure(bucketIp, caller.username);
      return right;
    });
    if (!isRight) {
      await writeAudit(storage.db, actor, { action: "password.refused", subject: `user:${caller.userId}` });
      throw new ApiProblem("invalid_credentials", "old_password is wrong");
    }
    const hash = await passwords.hash(body.new_password);
    const row = await storage.transaction(async (trx) => {
      const held = await lockUser(trx, caller.userId);
      // Changed or reset meanwhile: what was checked is the old one no more.
      if (held.password_hash !== known.password_hash)
        throw new ApiProblem("invalid_credentials", "the password was changed meanwhile: old_password is wrong");
      await endLogins(trx, caller.userId);
      const changed = await trx
        .updateTable("account")
        .set({ password_hash: hash })
        .where("id", "=", caller.userId)
        .returningAll()
        .executeTakeFirstOrThrow();
      await forgetAddresses(trx, caller.userId);
      if (actor.ip !== null) await rememberAddress(trx, caller.userId, actor.ip);
      await writeAudit(trx, actor, { action: "password.changed", subject: `user:${caller.userId}` });
      return changed;
    });
    return issue(row);
  }

  /** @throws {ApiProblem} login_required: a key is no login, and ends none */
  async function logOut(actor: KnownActor): Promise<void> {
    assertMayAny(actor.caller, PERMISSIONS.logOut);
    await storage.transaction(async (trx) => {
      await endLogins(trx, actor.caller.userId);
      await writeAudit(trx, actor, { action: "logout", subject: `user:${actor.caller.userId}` });
    });
  }

  return { isFirstRun, initialize, logIn, changePassword, logOut };
}
