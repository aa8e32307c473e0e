import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { Page, Success } from "../../protocol/common.ts";
import {
  CreateWebhookBody,
  DeliveryList,
  UpdateWebhookBody,
  WebhookAnswer,
  WebhookList,
  WebhookPath,
} from "../../protocol/webhooks.ts";
import type { Webhooks } from "../../webhooks/webhooks.ts";
import { actorOf, callerOf } from "../callers.ts";
import { refusals } from "../refusals.ts";

const tags = ["webhooks"];
const Paging = z.strictObject(Page);

/** One's own subscriptions to the ends of runs. */
export const webhookRoutes: FastifyPluginAsyncZod<{ webhooks: Webhooks }> = async (app, { webhooks }) => {
  const list = {
    tags,
    operationId: "listWebhooks",
    summary: "List webhooks",
    description: "The caller's own.",
    querystring: Paging,
    response: { 200: WebhookList, ...refusals() },
  };
  app.get("/api/webhooks", { schema: list }, async (request) => webhooks.list(callerOf(request), request.query));

  const create = {
    tags,
    operationId: "createWebhook",
    summary: "Make a webhook",
    description: "The secret is shown only here and after `rotate_secret`. Addresses that are not public are refused.",
    body: CreateWebhookBody,
    response: { 200: WebhookAnswer, ...refusals("login_required", "url_refused", "webhook_limit") },
  };
  app.post("/api/webhooks", { schema: create }, async (request) => webhooks.create(actorOf(request), request.body));

  const of = { tags, params: WebhookPath };
  const get = {
    ...of,
    operationId: "getWebhook",
    summary: "Look at a webhook",
    description: "Without its secret.",
    response: { 200: WebhookAnswer, ...refusals("webhook_not_found") },
  };
  app.get("/api/webhooks/:webhook_id", { schema: get }, async (request) =>
    webhooks.get(callerOf(request), request.params.webhook_id),
  );

  const update = {
    ...of,
    operationId: "updateWebhook",
    summary: "Change a webhook",
    description: "Only fields that are given change; `rotate_secret` makes a new secret and shows it.",
    body: UpdateWebhookBody,
    response: { 200: WebhookAnswer, ...refusals("login_required", "webhook_not_found", "url_refused") },
  };
  app.put("/api/webhooks/:webhook_id", { schema: update }, async (request) =>
    webhooks.update(actorOf(request), request.params.webhook_id, request.body),
  );

  const remove = {
    ...of,
    operationId: "deleteWebhook",
    summary: "Delete a webhook",
    description: "Its deliveries end with it.",
    response: { 200: Success, ...refusals("webhook_not_found") },
  };
  app.delete("/api/webhooks/:webhook_id", { schema: remove }, async (request) => {
    await webhooks.remove(actorOf(request), request.params.webhook_id);
    return { success: true as const };
  });

  const deliveries = {
    ...of,
    operationId: "listDeliveries",
    summary: "List a webhook's deliveries, newest first",
    description: "What was sent, how often, and the last answer.",
    querystring: Paging,
    response: { 200: DeliveryList, ...refusals("webhook_not_found") },
  };
  app.get("/api/webhooks/:webhook_id/deliveries", { schema: deliveries }, async (request) =>
    webhooks.deliveries(callerOf(request), request.params.webhook_id, request.query),
  );
};
