import type { FastifyReply } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { ShellOutput, ShellOutputHeaders, ShellOutputQuery } from "../../../protocol/index.ts";
import { SessionPath } from "../../../protocol/requests.ts";
import type { OutputSlice, TerminalService } from "../../terminal/terminal-service.ts";
import { shellLabel } from "../../terminal/shell-label.ts";
import type { LoggedLine } from "../../turns/turn-service.ts";
import { readOffset } from "../streaming/cursor.ts";
import type { OpenStreams } from "../streaming/open-streams.ts";
import { refusals } from "../refusals.ts";
import { sendStream } from "../streaming/send-stream.ts";
import { frameFor, frameSseError, HEARTBEAT_FRAME, STREAM_FAILED, wantsSse } from "../streaming/sse.ts";

export interface ShellOutputRoutesOptions {
  readonly terminal: TerminalService;
  readonly streams: OpenStreams;
  readonly heartbeatMs: number;
}

type Encoding = ShellOutput["encoding"];

/** Output in one SSE frame: as base64 and JSON it stays below 64 KiB. */
const FRAME_BYTES = 32_768;

const schema = {
  tags: ["shell"],
  operationId: "readShellOutput",
  summary: "Read a shell's output",
  description:
    "JSON of the output so far from an offset on; with `Accept: text/event-stream` server-sent events to the shell's end, " +
    "`id` the next offset, `event` `output`, at last `end`, `data` as the JSON. A shell does not wait for its readers " +
    "here: what its scrollback has lost is `truncated`.",
  params: SessionPath,
  querystring: ShellOutputQuery,
  headers: ShellOutputHeaders,
  response: {
    200: {
      description: "The output from the offset on.",
      content: {
        "application/json": { schema: ShellOutput },
        "text/event-stream": { schema: z.string() },
      },
    },
    204: z.undefined().describe("SSE only: the shell has ended and the offset is at its end: no output will follow."),
    ...refusals("shell_not_found", "cursor_beyond_end", "bad_cursor", "too_many_streams"),
  },
} as const;

/** `GET /v1/shell/sessions/{session_id}/output`. */
export const shellOutputRoutes: FastifyPluginAsyncZod<ShellOutputRoutesOptions> = async (app, options) => {
  const { terminal, streams, heartbeatMs } = options;

  app.get(
    "/v1/shell/sessions/:session_id/output",
    { schema, exposeHeadRoute: false, config: { takesTicket: true } },
    async (request, reply) => {
      const { session_id: id } = request.params;
      const { encoding, wait_ms: waitMs } = request.query;
      const isText = encoding === "text";
      const offset = readOffset(request.headers["last-event-id"], request.query.after);

      if (!wantsSse(request.headers.accept)) {
        const waiting = { id, offset, isText, waitMs, closing: streams.closing, reply };
        return toOutput(await readWhenThere(terminal, waiting), encoding);
      }

      const slice = terminal.read(id, offset, { isText });
      if (slice.bytes.length === 0 && slice.exit !== undefined) return reply.code(204).send();
      const stream = streams.open(id, request.raw.socket);
      // From here on this code owns the connection, as for events.
      reply.hijack();
      await sendStream(reply.raw, stream, {
        headers: reply.getHeaders(),
        format: {
          contentType: "text/event-stream; charset=utf-8",
          frame: frameFor(request.query),
          heartbeat: { bytes: HEARTBEAT_FRAME, everyMs: heartbeatMs },
          failure: frameSseError(STREAM_FAILED),
        },
        read: (signal) => followFrames(terminal, id, { offset, encoding, signal }),
        onFailure: (error) => request.log.error({ err: error, shell: shellLabel(id) }, "output stream failed"),
      });
      return reply;
    },
  );
};

async function* followFrames(
  terminal: TerminalService,
  id: string,
  { offset, encoding, signal }: { offset: number; encoding: Encoding; signal: AbortSignal },
): AsyncGenerator<readonly LoggedLine[]> {
  const isText = encoding === "text";
  for await (const slice of terminal.follow(id, offset, { isText, maxBytes: FRAME_BYTES, signal })) {
    const output = toOutput(slice, encoding);
    yield [
      {
        seq: output.next_offset,
        type: output.ended ? "end" : "output",
        bytes: Buffer.from(JSON.stringify(output)),
      },
    ];
  }
}

function toOutput({ offset, bytes, isTruncated, exit }: OutputSlice, encoding: Encoding): ShellOutput {
  return {
    offset,
    next_offset: offset + bytes.length,
    truncated: isTruncated,
    encoding,
    data: bytes.toString(encoding === "text" ? "utf8" : "base64"),
    ended: exit !== undefined,
    ...(exit === undefined ? {} : { exit }),
  };
}

interface WaitOptions {
  readonly id: string;
  readonly offset: number;
  readonly isText: boolean;
  readonly waitMs: number;
  readonly closing: AbortSignal;
  readonly reply: FastifyReply;
}

/** Reads the output so far; where there is none, waits for some, the time limit, the client's end or turnd's stop. */
async function readWhenThere(terminal: TerminalService, options: WaitOptions): Promise<OutputSlice> {
  const { id, offset, isText } = options;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  options.reply.raw.once("close", leave);
  // One signal of its own: Node keeps what is made of several for ever, once it has aborted.
  const { signal } = gone;
  options.closing.addEventListener("abort", leave, { once: true });
  if (options.closing.aborted) leave();
  const timer = setTimeout(leave, options.waitMs);
  try {
    for (;;) {
      const slice = terminal.read(id, offset, { isText });
      const isThere = slice.bytes.length > 0 || slice.exit !== undefined;
      if (isThere || options.waitMs === 0 || signal.aborted) return slice;
      // Part of a character cannot be answered yet: only with the bytes that follow it.
      await terminal.grown(id, slice.seen, signal);
    }
  } finally {
    clearTimeout(timer);
    options.closing.removeEventListener("abort", leave);
    options.reply.raw.off("close", leave);
  }
}
