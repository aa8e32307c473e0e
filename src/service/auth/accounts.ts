import { sql } from "kysely";
import { defined } from "../../kit/defined.ts";
import type { CreateUserBody, UpdateUserBody, User } from "../protocol/auth.ts";
import { ApiProblem } from "../protocol/problems.ts";
import { lockName } from "../storage/advisory-lock.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import { sqlState, violatedConstraint, type Transaction } from "../storage/transaction.ts";
import { writeAudit, type Actor } from "./audit.ts";
import type { Caller } from "./caller.ts";
import { forgetFailures } from "./lockout.ts";
import { forgetAddresses } from "./login-addresses.ts";
import { endLogins } from "./end-logins.ts";
import { assertGoodPassword, type Passwords } from "./passwords.ts";
import { assertMayAny, may, mayAll, PERMISSIONS, whereMay } from "./permissions.ts";
import { assertSuperadminStays, findUser, lockUser, showUser } from "./users.ts";

/** A caller with the address it calls from. */
export type KnownActor = Actor & { readonly caller: Caller };

export interface AccountsOptions {
  readonly storage: Storage;
  readonly passwords: Passwords;
  /** Ends what a disabled or deleted user has running or waiting, in that transaction. */
  readonly onUserStopped: (trx: Transaction, userId: number) => Promise<void>;
}

/** Users, as those who manage them see them. What people do with their own login is in `logins.ts`. */
export type Accounts = ReturnType<typeof createAccounts>;

export function createAccounts(options: AccountsOptions) {
  const { storage, passwords } = options;

  async function list(
    { caller }: KnownActor,
    page: { skip: number; limit: number },
  ): Promise<{ users: User[]; total: number }> {
    assertMayAny(caller, PERMISSIONS.listUsers);
    const query = storage.db
      .selectFrom("account")
      .where("deleted_at", "is", null)
      .where(whereMay(caller, PERMISSIONS.listUsers));
    const rows = await query.selectAll().orderBy("id").offset(page.skip).limit(page.limit).execute();
    const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
    return { users: rows.map(showUser), total };
  }

  async function get({ caller }: KnownActor, id: number): Promise<User> {
    if (id !== caller.userId) assertMayAny(caller, PERMISSIONS.listUsers);
    const row = await findUser(storage.db, id);
    if (!may(caller, PERMISSIONS.readUser, row)) throw notManaged();
    return showUser(row);
  }

  async function create(actor: KnownActor, body: CreateUserBody): Promise<User> {
    const { caller } = actor;
    assertMayAny(caller, PERMISSIONS.makeUser);
    const department_id = body.department_id ?? (mayAll(caller, PERMISSIONS.makeUser) ? null : caller.departmentId);
    if (!may(caller, PERMISSIONS.makeUser, { id: 0, role: body.role, department_id })) {
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
    assertMayAny(caller, PERMISSIONS.changeUser);
    const before = await findUser(storage.db, id);
    if (!may(caller, PERMISSIONS.changeUser, before)) throw notManaged();
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
      if (!may(caller, PERMISSIONS.changeUser, row)) throw notManaged();
      if (!may(caller, PERMISSIONS.changeUser, after))
        throw new ApiProblem("forbidden", "you would not manage the user any more");
      const isEnabled = body.is_enabled ?? row.is_enabled;
      await assertSuperadminStays(trx, row, { role: after.role, is_enabled: isEnabled });
      // Tokens given out before end with the password they came from, and with the account.
      const endsTokens = hash !== undefined || (row.is_enabled && !isEnabled);
      if (endsTokens) await endLogins(trx, id);
      try {
        const changed = await trx
          .updateTable("account")
          .set({
            role: after.role,
            department_id: after.department_id,
            is_enabled: isEnabled,
            updated_at: sql<Date>`now()`,
            ...defined({ password_hash: hash, display_name: body.display_name }),
            ...(body.quota === undefined ? {} : { quota: json(body.quota) }),
          })
          .where("id", "=", id)
          .returningAll()
          .executeTakeFirstOrThrow();
        if (hash !== undefined) {
          await forgetFailures(trx, row.username);
          await forgetAddresses(trx, id);
        }
        if (row.is_enabled && !isEnabled) await options.onUserStopped(trx, id);
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
    assertMayAny(actor.caller, PERMISSIONS.deleteUser);
    await storage.transaction(async (trx) => {
      await lockName(trx, "superadmins");
      const row = await lockUser(trx, id);
      if (!may(actor.caller, PERMISSIONS.deleteUser, row)) throw notManaged();
      await assertSuperadminStays(trx, row);
      await trx
        .updateTable("account")
        .set({
          deleted_at: sql<Date>`now()`,
          updated_at: sql<Date>`now()`,
          is_enabled: false,
          password_hash: null,
        })
        .where("id", "=", id)
        .execute();
      await endLogins(trx, id);
      await options.onUserStopped(trx, id);
      await writeAudit(trx, actor, { action: "user.deleted", subject: `user:${id}` });
    });
  }

  return { list, get, create, update, remove };
}

function notManaged(): ApiProblem {
  return new ApiProblem("forbidden", "you do not manage this user");
}

function explainConflict(error: unknown, username: string): unknown {
  if (violatedConstraint(error) === "account_username") {
    return new ApiProblem("username_taken", `the username ${username} is taken`);
  }
  if (sqlState(error) === "23503") return new ApiProblem("department_not_found", "there is no such department");
  return error;
}
