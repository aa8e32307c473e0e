import * as z from "zod";
import { ENVELOPE } from "./responses.ts";
import { Named, queryNumber } from "./requests.ts";
import { TicketQuery } from "./tickets.ts";
import { CallerId } from "./turns.ts";

/** The id of a shell: a UUID that turnd made, or the id of a turn session. */
const ShellId = CallerId.meta({
  description:
    "Names the terminal: the UUID of its URL, or the id of a turn session, whose terminal opens in that session's workspace.",
});

const Columns = z.int().min(2).max(1_000).describe("Columns of the terminal.");
const Rows = z.int().min(1).max(1_000).describe("Rows of the terminal.");

/** Columns and rows of a terminal. Of several viewers, the last one that reported its size decides. */
export const TerminalSize = z
  .strictObject({ cols: Columns, rows: Rows })
  .meta({ id: "TerminalSize", description: "The size of a terminal." });
export type TerminalSize = z.infer<typeof TerminalSize>;

/** Query of `GET /v1/shell/terminal-url`. */
export const TerminalUrlQuery = z.strictObject({ session_id: ShellId.optional() });

/** The terminal's URL, in the envelope that clients of the AIO sandbox already read. */
export const TerminalUrlEnvelope = z
  .strictObject({
    success: z.boolean().meta({ description: "false where this turnd does not serve the page; then there is no URL." }),
    message: ENVELOPE.message,
    data: z.url().nullable().describe("The URL, for a person's browser. It is a secret."),
  })
  .meta({
    id: "TerminalUrlEnvelope",
    description: "A terminal's URL, in the envelope that clients of the AIO sandbox read.",
  });
export type TerminalUrlEnvelope = z.infer<typeof TerminalUrlEnvelope>;

/** Body of `POST /v1/shell/sessions`. Unknown fields are refused. */
export const ShellRequest = z
  .strictObject({
    session_id: ShellId.optional(),
    cols: Columns.default(80).describe("Columns of the terminal."),
    rows: Rows.default(24).describe("Rows of the terminal."),
    cwd: z
      .string()
      .regex(/^\//, "must be an absolute path")
      .max(4096)
      .optional()
      .meta({ description: "Where it starts; default: the workspace. Lies where a turn's workspace may lie." }),
  })
  .meta({ id: "ShellRequest", description: "A shell to start. Unknown fields are refused." });
export type ShellRequest = z.infer<typeof ShellRequest>;

/** What ended a shell: itself, a request, no viewer and no byte for `TURND_SHELL_IDLE_MS`, or the end of turnd. */
export const ShellEndedBy = z.enum(["exit", "request", "idle", "shutdown"]).meta({
  id: "ShellEndedBy",
  description: "What ended a shell: itself, a request, disuse for `TURND_SHELL_IDLE_MS`, or the end of turnd.",
});
export type ShellEndedBy = z.infer<typeof ShellEndedBy>;

/** How a shell's program ended: 128 + n for signal n; null when it was killed together with its parent. */
export const ShellExit = z
  .strictObject({
    code: z.int().nullable().describe("128 + n for signal n; null when it was killed together with its parent."),
    ended_by: ShellEndedBy,
  })
  .meta({ id: "ShellExit", description: "How a shell's program ended." });
export type ShellExit = z.infer<typeof ShellExit>;

/** A shell in a terminal. One that has ended is kept for its output until newer ones have ended. */
export const ShellSession = z
  .strictObject({
    session_id: z.string().describe("The shell's id."),
    status: z.enum(["running", "ended"]).describe("Whether its program runs."),
    cwd: z.string().meta({ description: "Where it was started." }),
    ...TerminalSize.shape,
    viewers: z.int().nonnegative().describe("Who watches it now."),
    first_offset: z.int().nonnegative().meta({ description: "Of the oldest byte of output still kept." }),
    next_offset: z.int().nonnegative().meta({ description: "Of the next byte of output: all bytes so far." }),
    created_at: z.iso.datetime().describe("When it was started, UTC."),
    last_active_at: z.iso.datetime().describe("When it last had input or output, UTC."),
    ended_at: z.iso.datetime().optional().describe("When it ended, UTC."),
    exit: ShellExit.optional(),
  })
  .meta({ id: "ShellSession", description: "A shell in a terminal." });
export type ShellSession = z.infer<typeof ShellSession>;

export const ShellList = z
  .strictObject({ sessions: z.array(ShellSession).describe("Those that run, and some that have ended.") })
  .meta({ id: "ShellList", description: "Shells." });
export type ShellList = z.infer<typeof ShellList>;

/** Longest wait of `GET /v1/shell/sessions/{id}/output?wait_ms=`. */
const MAX_WAIT_MS = 60_000;

/** Query of `GET /v1/shell/sessions/{id}/output`. */
export const ShellOutputQuery = z.strictObject({
  after: z.string().optional().meta({
    type: "integer",
    minimum: 0,
    description: "Offset in bytes: send the output from there on. The header `Last-Event-ID` wins over it.",
  }),
  encoding: z.enum(["text", "base64"]).default("text").meta({
    description: "`text` is UTF-8, cut between characters; `base64` is the raw bytes.",
  }),
  wait_ms: queryNumber(0, MAX_WAIT_MS).default(0).meta({
    description: "JSON only: wait so long for a first byte.",
  }),
  named: Named,
  ticket: TicketQuery.shape.ticket,
});

/** Headers of `GET /v1/shell/sessions/{id}/output` that are read; others are ignored. */
export const ShellOutputHeaders = z.looseObject({
  "last-event-id": z.string().optional().meta({ description: "The `next_offset` of the last output a client has." }),
});

/** A part of a shell's output. */
export const ShellOutput = z
  .strictObject({
    offset: z.int().nonnegative().meta({ description: "Of the first byte given." }),
    next_offset: z.int().nonnegative().meta({ description: "The offset of the next request." }),
    truncated: z.boolean().meta({ description: "Output between the requested offset and `offset` is lost." }),
    encoding: z.enum(["text", "base64"]).describe("How `data` is written."),
    data: z.string().describe("The output."),
    ended: z.boolean().meta({ description: "The shell has ended and no output follows." }),
    exit: ShellExit.optional(),
  })
  .meta({ id: "ShellOutput", description: "A part of a shell's output." });
export type ShellOutput = z.infer<typeof ShellOutput>;

/** Body of `POST /v1/shell/sessions/{id}/input`. */
export const ShellInput = z
  .strictObject({
    text: z.string().min(1).max(262_144).meta({ description: "Typed as it is: `\\r` is Enter, `\\u0003` is Ctrl-C." }),
  })
  .meta({ id: "ShellInput", description: "What to type into a shell." });
export type ShellInput = z.infer<typeof ShellInput>;

/** The answer to input. */
export const ShellInputReceipt = z
  .strictObject({
    next_offset: z.int().nonnegative().meta({ description: "Output printed from now on begins here." }),
  })
  .meta({ id: "ShellInputReceipt", description: "Where the output of that input begins." });
export type ShellInputReceipt = z.infer<typeof ShellInputReceipt>;

/** Body of `POST /terminal/tickets`, which the page sends. The token goes into `Authorization`. */
export const TicketRequest = z.strictObject({
  session_id: ShellId.optional().meta({ description: "Absent: a new terminal." }),
});

/** Works once, for the WebSocket at `/terminal/ws`, as subprotocol `ticket.<ticket>` beside `turnd.terminal`. */
export const Ticket = z.strictObject({
  ticket: z.string(),
  expires_in_ms: z.int().positive(),
  session_id: ShellId.meta({ description: "Of the terminal that it opens." }),
});
export type Ticket = z.infer<typeof Ticket>;

/** A text message of a viewer. The first opens; keys are binary messages. */
export const ViewerMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("open"),
    ...TerminalSize.shape,
    /** Start a new shell where the old one has ended. */
    restart: z.boolean().default(false),
  }),
  z.strictObject({ type: z.literal("resize"), ...TerminalSize.shape }),
]);
export type ViewerMessage = z.infer<typeof ViewerMessage>;

/**
 * A text message to a viewer. Output is binary; after `attached` the first `replay_bytes` of it are scrollback.
 *
 * `created_at` is the shell's: a viewer that comes back finds out by it that its shell is another one. `others` counts the
 * viewers that were there before.
 */
export type TerminalMessage =
  | {
      readonly type: "attached";
      readonly cols: number;
      readonly rows: number;
      readonly replay_bytes: number;
      readonly created_at: string;
      readonly others: number;
    }
  | { readonly type: "resized"; readonly cols: number; readonly rows: number }
  | { readonly type: "ended"; readonly exit: ShellExit }
  | { readonly type: "refused"; readonly code: string; readonly message: string };
