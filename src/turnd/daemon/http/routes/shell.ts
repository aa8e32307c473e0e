import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import {
  ShellInput,
  ShellInputReceipt,
  ShellList,
  ShellRequest,
  ShellSession,
  TerminalSize,
  TerminalUrlEnvelope,
  TerminalUrlQuery,
} from "../../../protocol/index.ts";
import { SessionPath } from "../../../protocol/requests.ts";
import { readHostName } from "../../../../kit/http/host-name.ts";
import type { TerminalService } from "../../terminal/terminal-service.ts";
import { refusals } from "../refusals.ts";

export interface ShellRoutesOptions {
  readonly terminal: TerminalService;
}

const tags = ["shell"];
const bodies = ["invalid_json", "body_too_large", "unsupported_media_type"] as const;

/** `/v1/shell`, without a shell's output. */
export const shellRoutes: FastifyPluginAsyncZod<ShellRoutesOptions> = async (app, { terminal }) => {
  const url = {
    tags,
    operationId: "getTerminalUrl",
    summary: "Get the URL of a terminal",
    description:
      "Of a new terminal, whose URL opens it without a token; or, with `session_id`, of a turn session's, which needs the token.",
    querystring: TerminalUrlQuery,
    response: { 200: TerminalUrlEnvelope, ...refusals("session_not_found") },
  };
  app.get("/v1/shell/terminal-url", { schema: url }, async ({ query, headers, raw }) => {
    const isFront = app.connections.isFromSocket(raw.socket) && readHostName(headers.host) !== undefined;
    const found = terminal.url(query.session_id, isFront ? headers.host : undefined);
    // Law: never pretend. The URL of a page that is not served is no success.
    return found === undefined
      ? { success: false, message: "this turnd does not serve the page: TURND_TERMINAL_PORT is off", data: null }
      : { success: true, message: "ok", data: found };
  });

  const create = {
    tags,
    operationId: "createShell",
    summary: "Start a shell",
    description: "201 for a new one; 200 where the `session_id` has one that runs, which is left as it is.",
    body: ShellRequest.default({ cols: 80, rows: 24 }),
    response: {
      200: ShellSession,
      201: ShellSession,
      ...refusals(
        ...bodies,
        ...([
          "session_not_found",
          "workspace_unusable",
          "too_many_shells",
          "shutting_down",
          "resources_exhausted",
          "storage_full",
        ] as const),
      ),
    },
  };
  app.post("/v1/shell/sessions", { schema: create }, async ({ body }, reply) => {
    const { session, isNew } = await terminal.open(body);
    return reply.code(isNew ? 201 : 200).send(session);
  });

  const list = {
    tags,
    operationId: "listShells",
    summary: "List shells",
    description: "Those that run, and some that have ended.",
    response: { 200: ShellList, ...refusals() },
  };
  app.get("/v1/shell/sessions", { schema: list }, async () => ({ sessions: terminal.list() }));

  const get = {
    tags,
    operationId: "getShell",
    summary: "Look at a shell",
    description: "Whether it runs, its size, and the offsets of its output.",
    params: SessionPath,
    response: { 200: ShellSession, ...refusals("shell_not_found") },
  };
  app.get("/v1/shell/sessions/:session_id", { schema: get }, async ({ params }) => terminal.get(params.session_id));

  const input = {
    tags,
    operationId: "typeIntoShell",
    summary: "Type into a shell",
    description: "The text is written to its terminal as it is. Read what follows from `next_offset` on.",
    params: SessionPath,
    body: ShellInput,
    response: { 200: ShellInputReceipt, ...refusals(...bodies, "shell_not_found", "shell_ended", "shell_busy") },
  };
  app.post("/v1/shell/sessions/:session_id/input", { schema: input }, async ({ params, body }) => ({
    next_offset: terminal.input(params.session_id, body.text),
  }));

  const resize = {
    tags,
    operationId: "resizeShell",
    summary: "Resize a shell's terminal",
    description: "Of several viewers, the last one that reported its size decides.",
    params: SessionPath,
    body: TerminalSize,
    response: { 200: ShellSession, ...refusals(...bodies, "shell_not_found", "shell_ended") },
  };
  app.post("/v1/shell/sessions/:session_id/resize", { schema: resize }, async ({ params, body }) =>
    terminal.resize(params.session_id, body),
  );

  const close = {
    tags,
    operationId: "closeShell",
    summary: "Close a shell",
    description: "Answers when no process that it started is left.",
    params: SessionPath,
    response: { 204: z.undefined().describe("It is gone."), ...refusals("shell_not_found") },
  };
  app.delete("/v1/shell/sessions/:session_id", { schema: close }, async ({ params }, reply) => {
    await terminal.close(params.session_id);
    return reply.code(204).send();
  });
};
