import { sql, type Selectable } from "kysely";
import { v7 as uuid7 } from "uuid";
import { defined } from "../../kit/defined.ts";
import { ApiProblem, InputProblem } from "../protocol/problems.ts";
import {
  WebhookEvent,
  type CreateWebhookBody,
  type Delivery,
  type UpdateWebhookBody,
  type Webhook,
  type WebhookAnswer,
} from "../protocol/webhooks.ts";
import type { KnownActor } from "../auth/accounts.ts";
import { nextVersion } from "../auth/next-version.ts";
import { writeAudit } from "../auth/audit.ts";
import type { Caller } from "../auth/caller.ts";
import { webhookSecret } from "../auth/derive.ts";
import { assertMayAny, PERMISSIONS } from "../auth/permissions.ts";
import { OutboundRefused } from "../outbound/errors.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { lockName } from "../storage/advisory-lock.ts";
import type { Storage } from "../storage/storage.ts";
import type { WebhookTable } from "../storage/tables.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";

type WebhookRow = Selectable<WebhookTable>;

export interface WebhooksOptions {
  readonly storage: Storage;
  readonly outbound: Outbound;
  readonly keySecret: string;
  /** Webhooks of one user. */
  readonly most: number;
}

/** Subscriptions of users to the ends of their runs. */
export type Webhooks = ReturnType<typeof createWebhooks>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function createWebhooks({ storage, outbound, keySecret, most }: WebhooksOptions) {
  const withSecret = (row: WebhookRow): WebhookAnswer => ({
    webhook: showWebhook(row),
    secret: webhookSecret(keySecret, row.id, row.secret_version),
  });

  return {
    async list(
      { userId }: Caller,
      page: { skip: number; limit: number },
    ): Promise<{ webhooks: Webhook[]; total: number }> {
      const query = storage.db.selectFrom("webhook").where("user_id", "=", userId);
      const rows = await query.selectAll().orderBy("id", "desc").offset(page.skip).limit(page.limit).execute();
      const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
      return { webhooks: rows.map(showWebhook), total };
    },

    async get({ userId }: Caller, id: string): Promise<WebhookAnswer> {
      return { webhook: showWebhook(await find(storage.db, userId, id)) };
    },

    /** @throws {ApiProblem} url_refused, webhook_limit */
    async create(actor: KnownActor, { url, events }: CreateWebhookBody): Promise<WebhookAnswer> {
      const { userId } = actor.caller;
      assertMayAny(actor.caller, PERMISSIONS.changeWebhook);
      assertAcceptable(outbound, url);
      const row = await storage.transaction(async (trx) => {
        await lockName(trx, `webhooks:${userId}`);
        const { count } = await trx
          .selectFrom("webhook")
          .select(sql<number>`count(*)::int`.as("count"))
          .where("user_id", "=", userId)
          .executeTakeFirstOrThrow();
        if (count >= most) throw new ApiProblem("webhook_limit", `a user has at most ${most} webhooks`);
        const made = await trx
          .insertInto("webhook")
          .values({ id: uuid7(), user_id: userId, url, events })
          .returningAll()
          .executeTakeFirstOrThrow();
        await writeAudit(trx, actor, { action: "webhook.created", subject: `webhook:${made.id}`, details: { events } });
        return made;
      });
      return withSecret(row);
    },

    /** Enabling resets the count of failures. @throws {ApiProblem} */
    async update(actor: KnownActor, id: string, body: UpdateWebhookBody): Promise<WebhookAnswer> {
      assertMayAny(actor.caller, PERMISSIONS.changeWebhook);
      const { url, events, is_enabled: isEnabled, rotate_secret: isRotating = false } = body;
      if (url !== undefined) assertAcceptable(outbound, url);
      const row = await storage.transaction(async (trx) => {
        const known = await find(trx, actor.caller.userId, id);
        const changed = await trx
          .updateTable("webhook")
          .set({
            url: url ?? known.url,
            events: events ?? known.events,
            ...defined({ is_enabled: isEnabled }),
            ...(isEnabled === true ? { consecutive_failures: 0 } : {}),
            ...(isRotating ? { secret_version: nextVersion("secret_version") } : {}),
          })
          .where("id", "=", known.id)
          .returningAll()
          .executeTakeFirstOrThrow();
        const details = { fields: Object.keys(body) };
        await writeAudit(trx, actor, { action: "webhook.updated", subject: `webhook:${known.id}`, details });
        return changed;
      });
      return isRotating ? withSecret(row) : { webhook: showWebhook(row) };
    },

    /** Its deliveries go with it. */
    async remove(actor: KnownActor, id: string): Promise<void> {
      await storage.transaction(async (trx) => {
        const known = await find(trx, actor.caller.userId, id);
        await trx.deleteFrom("webhook").where("id", "=", known.id).execute();
        await writeAudit(trx, actor, { action: "webhook.deleted", subject: `webhook:${known.id}` });
      });
    },

    /** Newest first. */
    async deliveries(
      { userId }: Caller,
      id: string,
      page: { skip: number; limit: number },
    ): Promise<{ deliveries: Delivery[]; total: number }> {
      const webhook = await find(storage.db, userId, id);
      const query = storage.db.selectFrom("webhook_delivery").where("webhook_id", "=", webhook.id);
      const rows = await query.selectAll().orderBy("id", "desc").offset(page.skip).limit(page.limit).execute();
      const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
      const deliveries = rows.map(({ webhook_id: _webhookId, ...row }) => ({
        ...row,
        event: WebhookEvent.parse(row.event),
        created_at: row.created_at.toISOString(),
        delivered_at: row.delivered_at?.toISOString() ?? null,
      }));
      return { deliveries, total };
    },
  };
}

function assertAcceptable(outbound: Outbound, url: string): void {
  try {
    outbound.assertAcceptable(url);
  } catch (error) {
    if (error instanceof OutboundRefused)
      throw new InputProblem("url_refused", ["body", "url"], error.message, { reason: error.reason });
    throw error;
  }
}

/** @throws {ApiProblem} webhook_not_found: another's is not there (law: not yours is not there) */
async function find(db: Queries | Transaction, userId: number, id: string): Promise<WebhookRow> {
  const row = UUID.test(id)
    ? await db.selectFrom("webhook").selectAll().where("id", "=", id).where("user_id", "=", userId).executeTakeFirst()
    : undefined;
  if (row === undefined) throw new ApiProblem("webhook_not_found", `there is no webhook ${JSON.stringify(id)}`);
  return row;
}

function showWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    events: row.events.map((event) => WebhookEvent.parse(event)),
    is_enabled: row.is_enabled,
    consecutive_failures: row.consecutive_failures,
    created_at: row.created_at.toISOString(),
  };
}
