import { sql } from "kysely";
import { v7 as uuid7 } from "uuid";
import type { RunRow } from "../runs/rows.ts";
import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";

/** Makes the deliveries of a run's end and their jobs, in the transaction of that end (law 4). */
export async function noteEnd({ jobs }: Pick<Storage, "jobs">, trx: Transaction, run: RunRow): Promise<void> {
  const event = `run.${run.status}`;
  const webhooks = await trx
    .selectFrom("webhook")
    .select("id")
    .where("user_id", "=", run.user_id)
    .where("is_enabled", "=", true)
    .where(sql<boolean>`${event}::text = any(events)`)
    .execute();
  for (const { id: webhookId } of webhooks) {
    const id = uuid7();
    await trx
      .insertInto("webhook_delivery")
      .values({ id, webhook_id: webhookId, run_id: run.id, event, status: "pending" })
      .execute();
    await jobs.send(trx, "webhook", id);
  }
}
