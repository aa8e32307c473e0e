import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { TOOLS_PATH, type AgentTools } from "../../agent-tools/agent-tools.ts";
import type { RunAccess } from "../../agent-tools/run-access.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import { createCallLimit } from "../call-limit.ts";

declare module "fastify" {
  interface FastifyRequest {
    runAccess: RunAccess | null;
  }
}

/** The server of tools that turns call, by the Model Context Protocol (streamable HTTP); its credential is a run's token. */
export const agentToolRoutes: FastifyPluginAsync<{ agentTools: AgentTools; ratePerCredential: number }> = async (
  app,
  { agentTools, ratePerCredential },
) => {
  const count = createCallLimit(app, ratePerCredential, ({ runAccess }) => `run:${runAccess?.runId}`);
  app.decorateRequest("runAccess", null);
  app.addHook("preClose", async () => agentTools.close());
  app.route({
    // A client looks for a stream with GET, and ends what it takes for a session with DELETE: the protocol's answer is 405.
    method: ["POST", "GET", "DELETE"],
    url: TOOLS_PATH,
    exposeHeadRoute: false,
    // Its own credential, and its own limit.
    config: { isPublic: true, isUncounted: true },
    schema: { hide: true },
    async onRequest(request) {
      request.runAccess = (await agentTools.authenticate(request.headers.authorization)) ?? null;
      if (request.runAccess === null) throw new ApiProblem("unauthorized", "the token is not that of a running run");
      await count(request);
    },
    async preHandler(request) {
      // Each call of a batch is one; the first has been counted.
      const calls = Array.isArray(request.body) ? request.body.length : 1;
      for (let call = 1; call < calls; call += 1) await count(request);
    },
    async handler(request, reply) {
      if (request.runAccess === null) throw new Error("the run's access was not read");
      const answer = await agentTools.answer(request.runAccess, toWebRequest(request), request.body);
      return reply
        .code(answer.status)
        .headers(Object.fromEntries(answer.headers))
        .send(Buffer.from(await answer.arrayBuffer()));
    },
  });
};

/** The body is parsed already. */
function toWebRequest({ method, url, headers }: FastifyRequest): Request {
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === "content-length" ? [] : [[name, String(value)]],
  );
  return new Request(new URL(url, "http://localhost"), { method, headers: given });
}
