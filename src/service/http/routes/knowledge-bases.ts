import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import {
  CreateKnowledgeBaseBody,
  KbListQuery,
  KbPath,
  KnowledgeBaseAnswer,
  KnowledgeBaseDeleted,
  KnowledgeBaseList,
  KnowledgeBaseUpdated,
  UpdateKnowledgeBaseBody,
} from "../../protocol/knowledge-bases.ts";
import { PERMISSIONS } from "../../auth/permissions.ts";
import type { Knowledge } from "../../knowledge/knowledge.ts";
import { actorOf, callerOf } from "../callers.ts";
import { baseGate, baseOf, permissionGate } from "../knowledge-gate.ts";
import { refusals } from "../refusals.ts";

const tags = ["knowledge-bases"];

/** Records of knowledge bases, for those who manage them. */
export const knowledgeBaseRoutes: FastifyPluginAsyncZod<{ knowledge: Knowledge }> = async (app, { knowledge }) => {
  const { bases } = knowledge;
  const list = {
    tags,
    operationId: "listKnowledgeBases",
    summary: "List the knowledge bases you manage",
    description: "By name. What one may only read is listed under `external`.",
    querystring: KbListQuery,
    response: { 200: KnowledgeBaseList, ...refusals() },
  };
  app.get("/api/knowledge/databases", { schema: list }, async (request) =>
    bases.list(callerOf(request), request.query),
  );

  const create = {
    tags,
    operationId: "createKnowledgeBase",
    summary: "Make a knowledge base",
    description: "Admins and superadmins. Without `share_config` every user reads, the creator and superadmins manage.",
    body: CreateKnowledgeBaseBody,
    response: {
      200: KnowledgeBaseAnswer,
      ...refusals(
        "role_required",
        "kb_name_taken",
        "share_config_invalid",
        "embedding_model_unknown",
        "connector_invalid",
      ),
    },
  };
  app.post(
    "/api/knowledge/databases",
    { schema: create, onRequest: permissionGate(PERMISSIONS.makeBase) },
    async (request) => ({ database: await bases.create(actorOf(request), request.body) }),
  );

  const of = { tags, params: KbPath };
  const gate = baseGate(knowledge, "manage");
  const get = {
    ...of,
    operationId: "getKnowledgeBase",
    summary: "Look at a knowledge base",
    description: "With its files counted by state.",
    response: { 200: KnowledgeBaseAnswer, ...refusals("kb_not_found", "manage_required") },
  };
  app.get("/api/knowledge/databases/:kb_id", { schema: get, onRequest: gate }, async (request) => ({
    database: await bases.show(baseOf(request), callerOf(request)),
  }));

  const update = {
    ...of,
    operationId: "updateKnowledgeBase",
    summary: "Change a knowledge base",
    description: "Needs the `revision` that was read. Another embedding model needs `reindex` once files are indexed.",
    body: UpdateKnowledgeBaseBody,
    response: {
      200: KnowledgeBaseUpdated,
      ...refusals(
        "kb_not_found",
        "manage_required",
        "stale_revision",
        "kb_name_taken",
        "embedding_model_fixed",
        "share_config_invalid",
        "embedding_model_unknown",
        "connector_invalid",
      ),
    },
  };
  app.put("/api/knowledge/databases/:kb_id", { schema: update, onRequest: gate }, async (request) =>
    bases.update(actorOf(request), baseOf(request).id, request.body),
  );

  const remove = {
    ...of,
    operationId: "deleteKnowledgeBase",
    summary: "Delete a knowledge base: gone at once, emptied by a task",
    description: "It is no longer found from then on; the task deletes its files, chunks and objects.",
    response: { 200: KnowledgeBaseDeleted, ...refusals("kb_not_found", "manage_required") },
  };
  app.delete("/api/knowledge/databases/:kb_id", { schema: remove, onRequest: gate }, async (request) => ({
    success: true as const,
    task_id: await bases.remove(actorOf(request), baseOf(request).id),
  }));
};
