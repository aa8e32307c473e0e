import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { runToken } from "../auth/derive.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import { RunFailure } from "../runs/state/failures.ts";
import type { ToolServers } from "../runs/work/turn-body.ts";
import type { Storage } from "../storage/storage.ts";
import { readAccess, type RunAccess } from "./run-access.ts";
import { createToolServer } from "./tools.ts";

/** Where the server of tools answers. */
export const TOOLS_PATH = "/api/agent-tools/mcp";

/** What the tools' names begin with in a turn. */
const SERVER_NAME = "knowledge";

/**
 * The servers of tools that a run's turn gets: ours, when its agent names knowledge bases.
 *
 * @param baseUrl - where this service is reached from a sandbox; undefined when it is not configured
 */
export function createToolServers(options: {
  readonly keySecret: string;
  readonly baseUrl: () => Promise<URL | undefined>;
}): ToolServers {
  return async ({ runId, manifest }) => {
    if ((manifest.knowledge_bases ?? []).length === 0) return {};
    const base = await options.baseUrl();
    // An agent without its tools would answer as if there were no knowledge base.
    if (base === undefined) {
      throw new RunFailure(
        "agent_unavailable",
        "the agent's knowledge bases cannot be reached from its sandbox: set SERVICE_TOOLS_URL",
      );
    }
    const headers = { Authorization: `Bearer ${runToken(options.keySecret, runId)}` };
    return { [SERVER_NAME]: { type: "http", url: base.href.replace(/\/$/, "") + TOOLS_PATH, headers } };
  };
}

export type AgentTools = ReturnType<typeof createAgentTools>;

/** The server of tools that running turns call. */
export function createAgentTools(options: {
  readonly storage: Storage;
  readonly knowledge: Knowledge;
  readonly keySecret: string;
  readonly version: string;
  readonly logger: Logger;
}) {
  const closing = new AbortController();
  return {
    /** Who asks, by the token of a run. */
    authenticate: (authorization: string | undefined): Promise<RunAccess | undefined> =>
      readAccess({ ...options, closing: closing.signal }, authorization),
    /** Answers one call of the protocol. */
    async answer(access: RunAccess, request: Request, body: unknown): Promise<Response> {
      const handler = createMcpHandler(() => createToolServer(options, access), {
        onerror: (error) => options.logger.warn({ err: error, runId: access.runId }, "call of a tool was refused"),
      });
      try {
        return await handler.fetch(request, { parsedBody: body });
      } finally {
        await handler.close();
      }
    },
    /** Ends what waits. */
    close: () => closing.abort(),
  };
}
