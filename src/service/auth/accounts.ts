import { timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import type { CreateUserBody, UpdateUserBody, User } from "../api/auth.ts";
import { ApiProblem } from "../api/problems.ts";
import { lockName } from "../storage/advisory-lock.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import { sqlState, violatedConstraint, type Transaction } from "../storage/transaction.ts";
import { writeAudit, type Actor } from "./audit.ts";
import { managesUser, requireRole, type Caller } from "./caller.ts";
import { sha256 } from "./derive.ts";
import type { Lockout } from "./lockout.ts";
import type { Tokens } from "./jwt.ts";
import { assertGoodPassword, type Passwords } from "./passwords.ts";
import { assertAnotherSuperadmin, findUser, lockUser, requireManages, showUser, type AccountRow } from "./users.ts";

/** A caller with the address it calls from. */
export type KnownActor = Actor & { readonly caller: Caller };

export interface IssuedToken {
  readonly token: string;
  readonly expiresInSeconds: number;
  readonly user: User;
}

export interface AccountsOptions {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly tokens: Tokens;
  readonly lockout: Lockout;
  /** Needed to make the first account, where one is set. */
  readonly initToken: string | undefined;
  /** Ends what a deleted user has running, in the deletion's transaction. */
  readonly onUserDeleted: (trx: Transaction, userId: number) => Promise<void>;
}

/** Users, their passwords and their logins. */
export type Accounts = ReturnType<typeof createAccounts>;

export function createAccounts(options: AccountsOptions) {
  const { storage, passwords, tokens, lockout } = options;

  async function issue(row: AccountRow): Promise<IssuedToken> {
    const token = await tokens.sign({ userId: row.id, epoch: row.epoch });
    return { token, expiresInSeconds: Math.floor(tokens.ttlMs / 1_000), user: showUser(row) };
  }

  async function isFirstRun(): Promise<boolean> {
    return (await storage.db.selectFrom("account").select("id").limit(1).executeTakeFirst()) === undefined;
  }

  async function initialize(
    body: { username: string; password: string; display_name?: string | undefined; init_token?: string | undefined },
    ip: string | null,
  ): Promise<IssuedToken> {
    const { initToken } = options;
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
    // Counted in the check's own place in the queue: of many guesses at once none slips past the limit.
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
      const changed = await trx
        .updateTable("account")
        .set({ password_hash: hash, epoch: sql<number>`epoch + 1`, updated_at: sql<Date>`now()` })
        .where("id", "=", caller.userId)
        .returningAll()
        .executeTakeFirstOrThrow();
      await writeAudit(trx, actor, { action: "password.changed", subject: `user:${caller.userId}` });
      return changed;
    });
    return issue(row);
  }

  async function logOut(actor: KnownActor): Promise<void> {
    await storage.transaction(async (trx) => {
      await trx
        .updateTable("account")
        .set({ epoch: sql<number>`epoch + 1`, updated_at: sql<Date>`now()` })
        .where("id", "=", actor.caller.userId)
        .execute();
      await writeAudit(trx, actor, { action: "logout", subject: `user:${actor.caller.userId}` });
    });
  }

  async function list(
    { caller }: KnownActor,
    page: { skip: number; limit: number },
  ): Promise<{ users: User[]; total: number }> {
    requireRole(caller, "admin", "superadmin");
    let query = storage.db.selectFrom("account").where("deleted_at", "is", null);
    if (caller.role === "admin") {
      query = query.where("role", "=", "user").where("department_id", "=", caller.departmentId ?? -1);
    }
    const rows = await query.selectAll().orderBy("id").offset(page.skip).limit(page.limit).execute();
    const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
    return { users: rows.map(showUser), total };
  }

  async function get({ caller }: KnownActor, id: number): Promise<User> {
    if (id !== caller.userId) requireRole(caller, "admin", "superadmin");
    const row = await findUser(storage.db, id);
    if (id !== caller.userId) requireManages(caller, row);
    return showUser(row);
  }

  async function create(actor: KnownActor, body: CreateUserBody): Promise<User> {
    const { caller } = actor;
    requireRole(caller, "admin", "superadmin");
    const department_id = body.department_id ?? (caller.role === "admin" ? caller.departmentId : null);
    if (!managesUser(caller, { id: 0, role: body.role, department_id })) {
      throw new ApiProblem("forbidden", "an admin makes users of role user in the own department");
    }
    assertGoodPassword(body.password, body.username);
    const password_hash = await passwords.hash(body.password);
    return storage.transaction(async (trx) => {
      try {
        const row = await trx
          .insertInto("account")
          .values({
            username: body.username,
            display_name: body.display_name,
            password_hash,
            role: body.role,
            department_id,
            created_by: caller.userId,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        await writeAudit(trx, actor, {
          action: "user.created",
          subject: `user:${row.id}`,
          details: { role: row.role, department_id },
        });
        return showUser(row);
      } catch (error) {
        throw explainConflict(error, body.username);
      }
    });
  }

  async function update(actor: KnownActor, id: number, body: UpdateUserBody): Promise<User> {
    const { caller } = actor;
    requireRole(caller, "admin", "superadmin");
    const before = await findUser(storage.db, id);
    requireManages(caller, before);
    if (body.password !== undefined) assertGoodPassword(body.password, before.username);
    const hash = body.password === undefined ? undefined : await passwords.hash(body.password);
    return storage.transaction(async (trx) => {
      await lockName(trx, "superadmins");
      const row = await lockUser(trx, id);
      const after = {
        id,
        role: body.role ?? row.role,
        department_id: body.department_id === undefined ? row.department_id : body.department_id,
      };
      // What it was and what it becomes: an admin neither takes over nor gives away.
      requireManages(caller, row);
      if (!managesUser(caller, after)) throw new ApiProblem("forbidden", "you would not manage the user any more");
      const isEnabled = body.is_enabled ?? row.is_enabled;
      const isLosing = row.role === "superadmin" && row.is_enabled && (after.role !== "superadmin" || !isEnabled);
      if (isLosing) await assertAnotherSuperadmin(trx, id);
      // Tokens given out before end with the password they came from, and with the account.
      const endsTokens = hash !== undefined || (row.is_enabled && !isEnabled);
      try {
        const changed = await trx
          .updateTable("account")
          .set({
            role: after.role,
            department_id: after.department_id,
            is_enabled: isEnabled,
            updated_at: sql<Date>`now()`,
            ...(hash === undefined ? {} : { password_hash: hash }),
            ...(endsTokens ? { epoch: row.epoch + 1 } : {}),
            ...(body.display_name === undefined ? {} : { display_name: body.display_name }),
            ...(body.quota === undefined ? {} : { quota: json(body.quota) }),
          })
          .where("id", "=", id)
          .returningAll()
          .executeTakeFirstOrThrow();
        const changes = Object.entries(body).flatMap(([key, value]) => (value === undefined ? [] : [key]));
        const { role, department_id, is_enabled } = body;
        await writeAudit(trx, actor, {
          action: "user.updated",
          subject: `user:${id}`,
          details: { changes, role, department_id, is_enabled },
        });
        return showUser(changed);
      } catch (error) {
        throw explainConflict(error, row.username);
      }
    });
  }

  async function remove(actor: KnownActor, id: number): Promise<void> {
    requireRole(actor.caller, "admin", "superadmin");
    await storage.transaction(async (trx) => {
      await lockName(trx, "superadmins");
      const row = await lockUser(trx, id);
      requireManages(actor.caller, row);
      if (row.role === "superadmin") await assertAnotherSuperadmin(trx, id);
      await trx
        .updateTable("account")
        .set({
          deleted_at: sql<Date>`now()`,
          updated_at: sql<Date>`now()`,
          is_enabled: false,
          epoch: row.epoch + 1,
          password_hash: null,
        })
        .where("id", "=", id)
        .execute();
      await options.onUserDeleted(trx, id);
      await writeAudit(trx, actor, { action: "user.deleted", subject: `user:${id}` });
    });
  }

  return { isFirstRun, initialize, logIn, changePassword, logOut, list, get, create, update, remove };
}

function explainConflict(error: unknown, username: string): unknown {
  if (violatedConstraint(error) === "account_username") {
    return new ApiProblem("username_taken", `the username ${username} is taken`);
  }
  if (sqlState(error) === "23503") return new ApiProblem("department_not_found", "there is no such department");
  return error;
}
