import { endCredentials } from "../auth/end-credentials.ts";
import type { Settings } from "../settings/settings.ts";
import { withTransactions } from "./migrate.ts";

/** Ends every login and disables every API key and webhook, and says how many. */
export async function endCredentialsOf(settings: Settings, out: { write(text: string): unknown }): Promise<void> {
  await withTransactions(settings, async (storage) => {
    const { users, keys, webhooks } = await endCredentials(storage);
    out.write(`the logins of ${users} users have ended; ${keys} API keys and ${webhooks} webhooks are disabled\n`);
  });
}
