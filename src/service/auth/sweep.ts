import { sql } from "kysely";
import type { Storage } from "../storage/storage.ts";
import { deleteOldAddresses } from "./login-addresses.ts";

/** Deletes what has run out: logins of clients, windows of failed logins, addresses of old logins. */
export async function deleteExpiredLogins(storage: Storage): Promise<void> {
  await storage.db
    .deleteFrom("cli_session")
    .where("expires_at", "<", sql<Date>`now() - interval '1 hour'`)
    .execute();
  await storage.db
    .deleteFrom("login_failure")
    .where("window_ends_at", "<", sql<Date>`now()`)
    .execute();
  await deleteOldAddresses(storage.db);
}
