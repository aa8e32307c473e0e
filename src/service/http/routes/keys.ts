import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import {
  CreateKeyBody,
  KeyAnswer,
  KeyCreated,
  KeyList,
  KeyListQuery,
  KeyPath,
  KeyRequestId,
  UpdateKeyBody,
} from "../../protocol/auth.ts";
import { Success } from "../../protocol/common.ts";
import { ValidationProblem } from "../../protocol/problems.ts";
import type { Auth } from "../../auth/auth.ts";
import { actorOf, callerOf } from "../callers.ts";
import { idempotencyKey, idempotent } from "../idempotency.ts";
import { refusals } from "../refusals.ts";

const tags = ["keys"];

/** API keys. */
export const keyRoutes: FastifyPluginAsyncZod<{ auth: Auth }> = async (app, { auth: { keys } }) => {
  const list = {
    tags,
    operationId: "listApiKeys",
    summary: "List API keys, newest first",
    description: "Keys that are not revoked: superadmins see all, admins those of users they manage, others their own.",
    querystring: KeyListQuery,
    response: { 200: KeyList, ...refusals() },
  };
  app.get("/api/user/apikey", { schema: list }, async (request) => keys.list(callerOf(request), request.query));

  const create = {
    tags,
    operationId: "createApiKey",
    summary: "Create an API key",
    description:
      "Idempotent for each user and `request_id`: the same intent (name, expires_at, department_id, quota) gives the same record and the same secret. Needs a login: no API key makes or changes one.",
    body: CreateKeyBody,
    response: {
      200: KeyCreated,
      ...refusals(
        "login_required",
        "department_mismatch",
        "user_not_found",
        "key_revoked",
        "intent_conflict",
        "master_key_rotated",
      ),
    },
  };
  app.post("/api/user/apikey", { ...idempotent, schema: create }, async (request) => {
    const { body } = request;
    const requestId = idempotencyKey(request, body.request_id, KeyRequestId);
    if (requestId === undefined) {
      throw new ValidationProblem([
        { loc: ["body", "request_id"], msg: "needed, here or as Idempotency-Key", type: "missing" },
      ]);
    }
    return keys.create(actorOf(request), {
      userId: body.user_id ?? callerOf(request).userId,
      requestId,
      name: body.name,
      expiresAt: body.expires_at ?? null,
      departmentId: body.department_id,
      quota: body.quota,
      source: "api",
    });
  });

  const get = {
    tags,
    operationId: "getApiKey",
    summary: "Look at an API key",
    description: "Never shows the secret. A revoked key is gone.",
    params: KeyPath,
    response: { 200: KeyAnswer, ...refusals("key_not_found") },
  };
  app.get("/api/user/apikey/:api_key_id", { schema: get }, async (request) => ({
    api_key: await keys.get(callerOf(request), request.params.api_key_id),
  }));

  const update = {
    tags,
    operationId: "updateApiKey",
    summary: "Change an API key",
    description: "null is unchanged; `clear_expires_at` takes the expiry away.",
    params: KeyPath,
    body: UpdateKeyBody,
    response: { 200: KeyAnswer, ...refusals("login_required", "key_not_found") },
  };
  app.put("/api/user/apikey/:api_key_id", { schema: update }, async (request) => ({
    api_key: await keys.update(actorOf(request), request.params.api_key_id, request.body),
  }));

  const revoke = {
    tags,
    operationId: "revokeApiKey",
    summary: "Revoke an API key; safe to repeat",
    description: "The secret stops working at once and for good. Safe to repeat.",
    params: KeyPath,
    response: { 200: Success, ...refusals("key_not_found") },
  };
  app.delete("/api/user/apikey/:api_key_id", { schema: revoke }, async (request) => {
    await keys.revoke(actorOf(request), request.params.api_key_id);
    return { success: true as const };
  });
};
