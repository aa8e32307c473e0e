import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { Session, SessionList, SessionRequest } from "../../../protocol/index.ts";
import { SessionPath, SessionsQuery } from "../../../protocol/requests.ts";
import type { FileService } from "../../files/file-service.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import { refusals } from "../refusals.ts";

export interface SessionRoutesOptions {
  readonly service: TurnService;
  readonly files: Pick<FileService, "endSession">;
  /** @throws {ProblemError} shutting_down */
  readonly refuseWhenStopping: () => void;
}

const tags = ["sessions"];

/** `/v1/sessions`. */
export const sessionRoutes: FastifyPluginAsyncZod<SessionRoutesOptions> = async (app, options) => {
  const { service, files, refuseWhenStopping } = options;

  const create = {
    tags,
    operationId: "createSession",
    summary: "Make a session",
    description:
      "A turn with a new `session_id` makes one as well; here it gets what all its turns have: a workspace, permissions, MCP servers, instructions.",
    body: SessionRequest,
    response: {
      201: Session,
      ...refusals(
        ...(["invalid_json", "session_exists", "body_too_large", "unsupported_media_type"] as const),
        ...(["workspace_unusable", "shutting_down", "resources_exhausted", "storage_full"] as const),
      ),
    },
  };
  app.post("/v1/sessions", { schema: create }, async (request, reply) => {
    refuseWhenStopping();
    return reply.code(201).send(await service.createSession(request.body));
  });

  const list = {
    tags,
    operationId: "listSessions",
    summary: "List sessions",
    description: "Those that have not been deleted, the newest first; `next_cursor` leads to the next page.",
    querystring: SessionsQuery,
    response: { 200: SessionList, ...refusals("bad_cursor") },
  };
  app.get("/v1/sessions", { schema: list }, async ({ query: { cursor, limit } }) =>
    service.listSessions({ limit, ...(cursor === undefined ? {} : { cursor }) }),
  );

  const get = {
    tags,
    operationId: "getSession",
    summary: "Look at a session",
    description: "What it was made with, its turns, and the one that runs.",
    params: SessionPath,
    response: { 200: Session, ...refusals("session_not_found") },
  };
  app.get("/v1/sessions/:session_id", { schema: get }, async ({ params }) => service.getSession(params.session_id));

  const remove = {
    tags,
    operationId: "deleteSession",
    summary: "Delete a session",
    description:
      "Cancels its turns, ends what is left of their processes, and removes its state, with the workspace that turnd has " +
      "made for it. A workspace that a request named stays.",
    params: SessionPath,
    response: { 204: z.undefined().describe("It is gone."), ...refusals("session_not_found") },
  };
  app.delete("/v1/sessions/:session_id", { schema: remove }, async ({ params }, reply) => {
    await service.deleteSession(params.session_id);
    // Law: nothing outlives its turn. Neither does what works on files outlive its session.
    await files.endSession(params.session_id);
    return reply.code(204).send();
  });
};
