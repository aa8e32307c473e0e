import { sql } from "kysely";
import type { Storage } from "../storage/storage.ts";
import { nextVersion } from "./next-version.ts";
import { writeAudit } from "./audit.ts";

/** How many of each ended. */
export interface EndedCredentials {
  readonly users: number;
  readonly keys: number;
  readonly webhooks: number;
}

/**
 * Ends everything that lets one in, or goes on without one, as after a restore of an older backup: there what was ended since is
 * alive again. Logins of all users end, with those of clients under way; API keys and webhooks are disabled, not gone: who made
 * them enables what is still wanted, and a webhook has another secret. Passwords stay.
 */
export async function endCredentials({ transaction }: Pick<Storage, "transaction">): Promise<EndedCredentials> {
  return transaction(async (trx) => {
    const users = await trx
      .updateTable("account")
      .set({ epoch: nextVersion("epoch"), updated_at: sql<Date>`now()` })
      .where("deleted_at", "is", null)
      .executeTakeFirstOrThrow();
    await trx.deleteFrom("cli_session").execute();
    const keys = await trx
      .updateTable("api_key")
      .set({ is_enabled: false })
      .where("is_enabled", "=", true)
      .where("revoked_at", "is", null)
      .executeTakeFirstOrThrow();
    const webhooks = await trx
      .updateTable("webhook")
      .set({ is_enabled: false })
      .where("is_enabled", "=", true)
      .executeTakeFirstOrThrow();
    // Of those that were disabled, too: one that is enabled again must not have a secret from before.
    await trx
      .updateTable("webhook")
      .set({ secret_version: nextVersion("secret_version") })
      .execute();
    const ended = {
      users: Number(users.numUpdatedRows),
      keys: Number(keys.numUpdatedRows),
      webhooks: Number(webhooks.numUpdatedRows),
    };
    const details = { ...ended, by: "command_line" };
    await writeAudit(trx, { ip: null }, { action: "credentials.ended", subject: "service", details });
    return ended;
  });
}
