import { sql } from "kysely";
import type { Transaction } from "./transaction.ts";

/** Holds a name for the rest of the transaction: another that takes it waits. */
export async function lockName(trx: Transaction, ...name: readonly (string | number)[]): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify(name)}, 0))`.execute(trx);
}
