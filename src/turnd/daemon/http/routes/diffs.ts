import type { FastifyReply } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { TurnPath } from "../../../protocol/requests.ts";
import type { TurnDiff, TurnService } from "../../turns/turn-service.ts";
import { refusals } from "../refusals.ts";

const schema = {
  tags: ["turns"],
  operationId: "getTurnDiff",
  summary: "Read what an ended turn changed",
  description:
    "A patch for `git apply`, against what was in the workspace when the turn started: changed, new and removed files, " +
    "those that git ignores left out, binary ones included. Submodules are left out. In a workspace that is in no git " +
    "repository, or in one that ignores it, all files are compared but those that a `.gitignore` there names. It shows what was changed there " +
    "meanwhile, whoever did it, and is as reliable as the tools of the turn: they could write what git reads. Secrets in " +
    "it are not taken out. `x-turnd-truncated: true` marks one that is cut off and cannot be applied. `x-turnd-left-out` " +
    "names what it says nothing of, a JSON list of `path` and `reason`, as `encodeURIComponent` writes it: files that git " +
    "could not convert as the repository's attributes ask, and git repositories below a workspace that is in none.",
  params: TurnPath,
  response: {
    200: {
      description: "The patch; empty where nothing was changed.",
      content: { "text/x-diff": { schema: z.string() } },
    },
    ...refusals("turn_not_found", "turn_not_ended", "diff_not_found"),
  },
} as const;

/** `GET /v1/turns/{turn_id}/diff`. */
export const diffRoutes: FastifyPluginAsyncZod<{ readonly service: TurnService }> = async (app, { service }) => {
  app.get("/v1/turns/:turn_id/diff", { schema, exposeHeadRoute: false }, async ({ params }, reply) => {
    return sendDiff(reply, await service.openDiff(params.turn_id));
  });
};

/** Its bytes are those of files, in whatever encoding these are. */
function sendDiff(reply: FastifyReply, diff: TurnDiff): FastifyReply {
  if (diff.isTruncated) void reply.header("x-turnd-truncated", "true");
  if (diff.leftOut.length > 0) void reply.header("x-turnd-left-out", encodeURIComponent(JSON.stringify(diff.leftOut)));
  void reply
    .type("text/x-diff")
    .header("cache-control", "no-store")
    .header("x-content-type-options", "nosniff")
    .header("content-security-policy", "default-src 'none'; sandbox")
    .header("content-length", diff.sizeBytes);
  return reply.send(diff.sizeBytes === 0 ? "" : diff.read());
}
