import { sql } from "kysely";
import { v7 as uuid7 } from "uuid";
import type { RunRow } from "../runs/state/rows.ts";
import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";

/** The group of a user's deliveries: a receiver that does not answer delays only its own user's. */
export function groupOf(userId: number): string {
  return `user:${userId}`;
}

/**
 * Makes the deliveries of a run's end and their jobs, in the transaction of that end. Law: the end is one transaction.
 */
export async function noteEnd({ jobs }: Pick<Storage, "jobs">, trx: Transaction, run: RunRow): Promise<void> {
  const event = `run.${run.status}`;
  const webhooks = await trx
    .selectFrom("webhook")
    .innerJoin("account", "account.id", "webhook.user_id")
    .select("webhook.id")
    .where("user_id", "=", run.user_id)
    .where("account.deleted_at", "is", null)
    .where("account.is_enabled", "=", true)
    .where("webhook.is_enabled", "=", true)
    .where(sql<boolean>`${event}::text = any(events)`)
    .execute();
  for (const { id: webhookId } of webhooks) {
    const id = uuid7();
    await trx
      .insertInto("webhook_delivery")
      .values({ id, webhook_id: webhookId, run_id: run.id, event, status: "pending" })
      .execute();
    await jobs.send(trx, "webhook", id, groupOf(run.user_id));
  }
}
