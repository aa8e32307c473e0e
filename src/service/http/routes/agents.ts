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
    summary: "List agents",
    querystring: AgentListQuery,
    response: { 200: AgentList, ...refusals() },
  };
  app.get("/api/agents", { schema: list }, async (request) => agents.list(callerOf(request), request.query));

  const create = {
    tags,
    summary: "Make an agent",
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
    summary: "Look at an agent",
    params: AgentPath,
    response: { 200: AgentAnswer, ...refusals("agent_not_found") },
  };
  app.get("/api/agents/:slug", { schema: get }, async (request) => ({
    agent: await agents.get(callerOf(request), request.params.slug),
  }));

  const update = {
    tags,
    summary: "Change an agent",
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
    summary: "Delete an agent without threads",
    params: AgentPath,
    response: { 200: Success, ...refusals("forbidden", "agent_not_found", "agent_in_use") },
  };
  app.delete("/api/agents/:slug", { schema: remove }, async (request) => {
    await agents.remove(actorOf(request), request.params.slug);
    return { success: true as const };
  });
};
