import { sql, type Selectable } from "kysely";
import { Quota } from "../protocol/common.ts";
import type { User } from "../protocol/auth.ts";
import { ApiProblem } from "../protocol/problems.ts";
import type { AccountTable } from "../storage/tables.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";

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

/**
 * Refuses a change that leaves no enabled superadmin; the caller holds the name "superadmins".
 *
 * @param after - what the user becomes; absent where the user is deleted
 * @throws {ApiProblem} last_superadmin
 */
export async function assertSuperadminStays(
  trx: Transaction,
  before: Pick<AccountRow, "id" | "role" | "is_enabled">,
  after?: Pick<AccountRow, "role" | "is_enabled">,
): Promise<void> {
  if (!isActiveSuperadmin(before) || (after !== undefined && isActiveSuperadmin(after))) return;
  const { rows } = await sql<{ others: number }>`
    select count(*)::int as others from account
    where role = 'superadmin' and is_enabled and deleted_at is null and id <> ${before.id}`.execute(trx);
  if ((rows[0]?.others ?? 0) === 0) throw new ApiProblem("last_superadmin", "the last superadmin must stay");
}

function isActiveSuperadmin({ role, is_enabled }: Pick<AccountRow, "role" | "is_enabled">): boolean {
  return role === "superadmin" && is_enabled;
}
