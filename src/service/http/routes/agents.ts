import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { Agents } from "../../agents/agents.ts";
import {
  AgentAnswer,
  AgentList,
  AgentListQuery,
  AgentPath,
  CreateAgentBody,
  UpdateAgentBody,
} from "../../protocol/agents.ts";
import { Success } from "../../protocol/common.ts";
import { actorOf, callerOf } from "../callers.ts";
import { refusals } from "../refusals.ts";

const tags = ["agents"];

/** Agents: visible ones to all, made by admins. */
export const agentRoutes: FastifyPluginAsyncZod<{ agents: Agents }> = async (app, { agents }) => {
  const list = {
    tags,
    operationId: "listAgents",
    summary: "List agents",
    description: "Agents that the caller may use.",
    querystring: AgentListQuery,
    response: { 200: AgentList, ...refusals() },
  };
  app.get("/api/agents", { schema: list }, async (request) => agents.list(callerOf(request), request.query));

  const create = {
    tags,
    operationId: "createAgent",
    summary: "Make an agent",
    description: "Admins and superadmins. Without `share_config` all may use it and only its maker manages it.",
    body: CreateAgentBody,
    response: {
      200: AgentAnswer,
      ...refusals(
        "role_required",
        "slug_taken",
        "share_config_invalid",
        "model_unknown",
        "mode_unsupported",
        "kb_not_found",
      ),
    },
  };
  app.post("/api/agents", { schema: create }, async (request) => ({
    agent: await agents.create(actorOf(request), request.body),
  }));

  const get = {
    tags,
    operationId: "getAgent",
    summary: "Look at an agent",
    description: "404 for an agent that is not shared with the caller.",
    params: AgentPath,
    response: { 200: AgentAnswer, ...refusals("agent_not_found") },
  };
  app.get("/api/agents/:slug", { schema: get }, async (request) => ({
    agent: await agents.get(callerOf(request), request.params.slug),
  }));

  const update = {
    tags,
    operationId: "updateAgent",
    summary: "Change an agent",
    description: "`revision` must be the present one. Slug and executor cannot change.",
    params: AgentPath,
    body: UpdateAgentBody,
    response: {
      200: AgentAnswer,
      ...refusals(
        "forbidden",
        "agent_not_found",
        "kb_not_found",
        "stale_revision",
        "share_config_invalid",
        "model_unknown",
        "mode_unsupported",
      ),
    },
  };
  app.put("/api/agents/:slug", { schema: update }, async (request) => ({
    agent: await agents.update(actorOf(request), request.params.slug, request.body),
  }));

  const remove = {
    tags,
    operationId: "deleteAgent",
    summary: "Delete an agent without threads",
    description: "409 while it has threads: disable it instead.",
    params: AgentPath,
    response: { 200: Success, ...refusals("forbidden", "agent_not_found", "agent_in_use") },
  };
  app.delete("/api/agents/:slug", { schema: remove }, async (request) => {
    await agents.remove(actorOf(request), request.params.slug);
    return { success: true as const };
  });
};
