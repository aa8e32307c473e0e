import { sql } from "kysely";
import type { Logger } from "pino";
import { Webhook as Signer } from "standardwebhooks";
import { webhookSecret } from "../auth/derive.ts";
import { WebhookEvent, type WebhookMessage } from "../protocol/webhooks.ts";
import { OutboundFailed, OutboundRefused } from "../outbound/errors.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { listRuns } from "../runs/read/find-runs.ts";
import { showResult } from "../runs/read/run-view.ts";
import { storableText } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import { groupOf } from "./note-end.ts";

export interface DeliveryOptions {
  readonly storage: Storage;
  readonly outbound: Outbound;
  /** The master secret that the webhooks' own are derived from. */
  readonly keySecret: string;
  readonly logger: Logger;
}

/** With the waits of the queue (`RETRY_WAITS`) about a day. */
export const MOST_ATTEMPTS = 33;
/** Deliveries in a row that failed for good; then the webhook is disabled. */
const MOST_FAILED = 20;
const ANSWER_MS = 10_000;
/** The receiver asks for no more deliveries (Standard Webhooks). */
const GONE = 410;

/** Not delivered yet: the queue gives the job again later. */
class NotDelivered extends Error {
  constructor(reason: string) {
    super(`not delivered: ${reason}`);
    this.name = "NotDelivered";
  }
}

interface Outcome {
  readonly isDelivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** Sends one delivery; a receiver may see it twice, with the same `webhook-id`. @throws {NotDelivered} */
export async function deliver(options: DeliveryOptions, deliveryId: string, signal: AbortSignal): Promise<void> {
  const { storage, logger } = options;
  const row = await storage.db
    .selectFrom("webhook_delivery as delivery")
    .innerJoin("webhook", "webhook.id", "delivery.webhook_id")
    .innerJoin("account", "account.id", "webhook.user_id")
    .selectAll("delivery")
    .select(["webhook.url", "webhook.user_id", "webhook.secret_version"])
    .select(sql<boolean>`webhook.is_enabled and account.is_enabled and account.deleted_at is null`.as("is_enabled"))
    .where("delivery.id", "=", deliveryId)
    .where("delivery.status", "=", "pending")
    .executeTakeFirst();
  // Delivered already, or deleted with its webhook.
  if (row === undefined) return;
  const message = await composeMessage(storage, row);
  const outcome: Outcome = !row.is_enabled
    ? { isDelivered: false, status: null, error: "the webhook or its user is disabled, or the user deleted" }
    : message === undefined
      ? { isDelivered: false, status: null, error: "the run is gone" }
      : await send(options, row, message, signal);
  const attempts = row.attempts + 1;
  const isGone = outcome.status === GONE;
  const isOver = attempts >= MOST_ATTEMPTS || !row.is_enabled || message === undefined || isGone;
  const status = outcome.isDelivered ? "delivered" : isOver ? "failed" : "pending";
  await storage.transaction(async (trx) => {
    const written = await trx
      .updateTable("webhook_delivery")
      .set({
        status,
        attempts,
        last_status: outcome.status,
        last_error: outcome.error === null ? null : storableText(outcome.error),
        delivered_at: outcome.isDelivered ? sql<Date>`now()` : null,
      })
      .where("id", "=", deliveryId)
      .where("status", "=", "pending")
      .returning("id")
      .executeTakeFirst();
    if (written === undefined || status === "pending" || !row.is_enabled) return;
    await trx
      .updateTable("webhook")
      .set(
        status === "delivered"
          ? { consecutive_failures: 0 }
          : {
              consecutive_failures: sql<number>`consecutive_failures + 1`,
              is_enabled: isGone ? false : sql<boolean>`consecutive_failures + 1 < ${MOST_FAILED}::int`,
            },
      )
      .where("id", "=", row.webhook_id)
      .execute();
  });
  if (status === "failed") logger.warn({ deliveryId, webhookId: row.webhook_id }, "webhook delivery failed for good");
  if (status === "pending") throw new NotDelivered(outcome.error ?? "");
}

async function composeMessage(
  storage: Storage,
  delivery: { user_id: number; run_id: string; event: string },
): Promise<WebhookMessage | undefined> {
  const [run] = await listRuns(storage.db, { userId: delivery.user_id, runId: delivery.run_id, limit: 1 });
  if (run === undefined) return undefined;
  const { run_id, request_id, thread_id, agent_slug, status, error, usage, evaluation, ended_at } = showResult(run);
  return {
    type: WebhookEvent.parse(delivery.event),
    timestamp: ended_at ?? run.run.created_at.toISOString(),
    data: { run_id, request_id, thread_id, agent_slug, status, error, usage, evaluation: evaluation ?? null },
  };
}

async function send(
  { outbound, keySecret }: DeliveryOptions,
  delivery: { id: string; webhook_id: string; secret_version: number; url: string },
  message: WebhookMessage,
  signal: AbortSignal,
): Promise<Outcome> {
  const body = JSON.stringify(message);
  const sentAt = new Date();
  const signer = new Signer(webhookSecret(keySecret, delivery.webhook_id, delivery.secret_version));
  try {
    const { status } = await outbound.fetch({
      url: delivery.url,
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        "webhook-id": delivery.id,
        "webhook-timestamp": String(Math.floor(sentAt.getTime() / 1_000)),
        "webhook-signature": signer.sign(delivery.id, sentAt, body),
      },
      timeoutMs: ANSWER_MS,
      signal,
    });
    const isDelivered = status >= 200 && status < 300;
    return { isDelivered, status, error: isDelivered ? null : `the receiver answered ${status}` };
  } catch (error) {
    if (!(error instanceof OutboundRefused || error instanceof OutboundFailed)) throw error;
    return { isDelivered: false, status: null, error: `${error.reason}: ${error.message}` };
  }
}

/** Gives every delivery under way its job again where that is missing. Law: the row is the truth. */
export async function ensureDeliveryJobs(storage: Storage): Promise<void> {
  const rows = await storage.db
    .selectFrom("webhook_delivery as delivery")
    .innerJoin("webhook", "webhook.id", "delivery.webhook_id")
    .select(["delivery.id", "webhook.user_id"])
    .where("delivery.status", "=", "pending")
    .where("delivery.created_at", "<", sql<Date>`now() - interval '2 minutes'`)
    .orderBy("delivery.created_at")
    .limit(500)
    .execute();
  for (const { id, user_id: userId } of rows) await storage.jobs.ensure("webhook", id, groupOf(userId));
}
