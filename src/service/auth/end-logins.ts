import { sql } from "kysely";
import type { Transaction } from "../storage/transaction.ts";
import { nextVersion } from "./next-version.ts";

/**
 * Ends all logins of a user: the tokens that were given out, and the logins of clients that the user has approved and that have no
 * key yet. API keys stay.
 */
export async function endLogins(trx: Transaction, userId: number): Promise<void> {
  await trx
    .updateTable("account")
    .set({ epoch: nextVersion("epoch"), updated_at: sql<Date>`now()` })
    .where("id", "=", userId)
    .execute();
  await trx
    .updateTable("cli_session")
    .set({ state: "denied" })
    .where("user_id", "=", userId)
    .where("state", "=", "approved")
    .execute();
}
