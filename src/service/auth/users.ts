import { sql, type Selectable } from "kysely";
import { Quota } from "../protocol/common.ts";
import type { User } from "../protocol/auth.ts";
import { ApiProblem } from "../protocol/problems.ts";
import type { AccountTable } from "../storage/tables.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";
import { managesUser, type Caller } from "./caller.ts";

export type AccountRow = Selectable<AccountTable>;

/** A user as the API shows one. */
export function showUser(row: AccountRow): User {
  return {
    id: row.id,
    username: row.username,
    display_name: row.display_name,
    role: row.role,
    department_id: row.department_id,
    is_enabled: row.is_enabled,
    quota: Quota.parse(row.quota),
    created_at: row.created_at.toISOString(),
  };
}

/** A user who has not been deleted. @throws {ApiProblem} user_not_found */
export async function findUser(db: Queries | Transaction, id: number): Promise<AccountRow> {
  const row = await db
    .selectFrom("account")
    .selectAll()
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (row === undefined) throw missingUser(id);
  return row;
}

/** The same for the rest of the transaction. */
export async function lockUser(trx: Transaction, id: number): Promise<AccountRow> {
  const row = await trx
    .selectFrom("account")
    .selectAll()
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw missingUser(id);
  return row;
}

export function missingUser(id: number): ApiProblem {
  return new ApiProblem("user_not_found", `there is no user ${id}`);
}

/** @throws {ApiProblem} forbidden */
export function requireManages(caller: Caller, user: AccountRow): void {
  if (!managesUser(caller, user)) throw new ApiProblem("forbidden", "you do not manage this user");
}

/** @throws {ApiProblem} last_superadmin unless another enabled one remains; the caller holds the name "superadmins" */
export async function assertAnotherSuperadmin(trx: Transaction, id: number): Promise<void> {
  const { rows } = await sql<{ others: number }>`
    select count(*)::int as others from account
    where role = 'superadmin' and is_enabled and deleted_at is null and id <> ${id}`.execute(trx);
  if ((rows[0]?.others ?? 0) === 0) throw new ApiProblem("last_superadmin", "the last superadmin must stay");
}
