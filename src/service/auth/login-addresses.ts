import { sql } from "kysely";
import type { Queries, Transaction } from "../storage/transaction.ts";
import { addressGroup } from "./address-group.ts";

/** How long a user is known at an address after a login. */
const KNOWN_DAYS = 90;

/** Remembers that a user has logged in from there. */
export async function rememberAddress(db: Queries | Transaction, userId: number, ip: string): Promise<void> {
  await db
    .insertInto("login_address")
    .values({ user_id: userId, address: addressGroup(ip) })
    .onConflict((conflict) => conflict.columns(["user_id", "address"]).doUpdateSet({ last_at: sql<Date>`now()` }))
    .execute();
}

/** Whether the user of a name has logged in from there. */
export async function isKnownAddress(db: Queries, name: string, ip: string): Promise<boolean> {
  const row = await db
    .selectFrom("login_address")
    .innerJoin("account", "account.id", "login_address.user_id")
    .select("login_address.user_id")
    .where("account.username", "=", name)
    .where("account.deleted_at", "is", null)
    .where("login_address.address", "=", addressGroup(ip))
    .where(sql<boolean>`login_address.last_at > now() - ${KNOWN_DAYS}::int * interval '1 day'`)
    .executeTakeFirst();
  return row !== undefined;
}

/** With another password no address is known: whoever had the old one may have logged in from any of them. */
export async function forgetAddresses(trx: Transaction, userId: number): Promise<void> {
  await trx.deleteFrom("login_address").where("user_id", "=", userId).execute();
}

export async function deleteOldAddresses(db: Queries): Promise<void> {
  await db
    .deleteFrom("login_address")
    .where(sql<boolean>`last_at <= now() - ${KNOWN_DAYS}::int * interval '1 day'`)
    .execute();
}
