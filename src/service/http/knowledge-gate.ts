import type { FastifyInstance, FastifyRequest } from "fastify";
import { assertMayAny, type Permission } from "../auth/permissions.ts";
import type { BaseRow, Need } from "../knowledge/state/access.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import { isStorable } from "../storage/storable.ts";
import { callerOf } from "./callers.ts";

declare module "fastify" {
  interface FastifyRequest {
    knowledgeBase: BaseRow | null;
  }
}

/** Readies requests for the gates below. */
export function registerKnowledgeGates(app: FastifyInstance): void {
  app.decorateRequest("knowledgeBase", null);
}

/**
 * Decides whether a caller may use a knowledge base before the body is looked at (law: not readable is not there): 404,
 * then 403, then 400 `retrieval_only`.
 *
 * Where the body names it, as `preValidation`: it is parsed by then, and nothing else of it was looked at.
 *
 * @param operation - named where documents of ours are needed
 */
export function baseGate(knowledge: Knowledge, need: Need, operation?: string) {
  return async (request: FastifyRequest): Promise<void> => {
    const kbId = readKbId(request.params) ?? readKbId(request.query) ?? readKbId(request.body);
    // Validation reports what is missing, or cannot be an id.
    if (kbId === undefined) return;
    request.knowledgeBase = await knowledge.open(callerOf(request), kbId, { need, operation });
  };
}

/** Refuses who may do it to nothing, before the body is looked at. */
export function permissionGate(permission: Permission<unknown>) {
  return async (request: FastifyRequest): Promise<void> => assertMayAny(callerOf(request), permission);
}

/** What the gate of this route found. */
export function baseOf({ knowledgeBase }: FastifyRequest): BaseRow {
  if (knowledgeBase === null) throw new Error("this route has no gate of a knowledge base");
  return knowledgeBase;
}

function readKbId(part: unknown): string | undefined {
  if (typeof part !== "object" || part === null || !("kb_id" in part)) return undefined;
  const { kb_id: kbId } = part;
  return typeof kbId === "string" && kbId !== "" && isStorable(kbId) ? kbId : undefined;
}
