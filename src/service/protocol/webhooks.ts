import { z } from "zod";
import { Time, Uuid } from "./common.ts";
import { Evaluation, RunError, RunStatus, Usage } from "./runs.ts";

export const WebhookEvent = z
  .enum(["run.completed", "run.failed", "run.cancelled", "run.interrupted"])
  .meta({ id: "WebhookEvent" });
export type WebhookEvent = z.infer<typeof WebhookEvent>;

const Events = z
  .array(WebhookEvent)
  .min(1)
  .max(4)
  .transform((events) => [...new Set(events)]);
const Address = z.string().min(1).max(2_000);

export const Webhook = z
  .strictObject({
    id: Uuid,
    url: z.string(),
    events: z.array(WebhookEvent),
    is_enabled: z.boolean(),
    consecutive_failures: z.int(),
    created_at: Time,
  })
  .meta({ id: "Webhook" });
export type Webhook = z.infer<typeof Webhook>;

export const CreateWebhookBody = z.strictObject({ url: Address, events: Events }).meta({ id: "CreateWebhookBody" });
export type CreateWebhookBody = z.infer<typeof CreateWebhookBody>;

export const UpdateWebhookBody = z
  .strictObject({
    url: Address.optional(),
    events: Events.optional(),
    is_enabled: z.boolean().optional(),
    rotate_secret: z.literal(true).optional(),
  })
  .meta({ id: "UpdateWebhookBody" });
export type UpdateWebhookBody = z.infer<typeof UpdateWebhookBody>;

/** `secret` only where it is new: at creation and rotation. */
export const WebhookAnswer = z
  .strictObject({ webhook: Webhook, secret: z.string().optional() })
  .meta({ id: "WebhookAnswer" });
export type WebhookAnswer = z.infer<typeof WebhookAnswer>;
export const WebhookList = z.strictObject({ webhooks: z.array(Webhook), total: z.int() }).meta({ id: "WebhookList" });
export const WebhookPath = z.strictObject({ webhook_id: z.string().max(64) });

export const Delivery = z
  .strictObject({
    id: Uuid,
    run_id: Uuid,
    event: WebhookEvent,
    status: z.enum(["pending", "delivered", "failed"]),
    attempts: z.int(),
    last_status: z.int().nullable(),
    last_error: z.string().nullable(),
    created_at: Time,
    delivered_at: Time.nullable(),
  })
  .meta({ id: "WebhookDelivery" });
export type Delivery = z.infer<typeof Delivery>;
export const DeliveryList = z
  .strictObject({ deliveries: z.array(Delivery), total: z.int() })
  .meta({ id: "WebhookDeliveryList" });

/** What is sent: no output, which the receiver reads. */
export const WebhookMessage = z
  .strictObject({
    type: WebhookEvent,
    timestamp: Time,
    data: z.strictObject({
      run_id: Uuid,
      request_id: z.string(),
      thread_id: z.string(),
      agent_slug: z.string(),
      status: RunStatus,
      error: RunError.nullable(),
      usage: Usage.nullable(),
      evaluation: Evaluation.nullable(),
    }),
  })
  .meta({ id: "WebhookMessage" });
export type WebhookMessage = z.infer<typeof WebhookMessage>;
