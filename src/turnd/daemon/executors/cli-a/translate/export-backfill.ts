import { z } from "zod";
import type { Recovery } from "../../contract/translator.ts";
import { RECOVERED } from "../records/record.ts";

/** Which parts of the session stdout has shown, as far as it takes to find the rest. */
export interface PrintedParts {
  add(messageId: string, partId: string): void;
  /** The newest message that was printed, and what was printed of it; undefined before the first. */
  newest(): { readonly messageId: string; readonly partIds: ReadonlySet<string> } | undefined;
  /** False when something was printed that is no longer known: then it is unknown what is missing. */
  isKnown(): boolean;
}

/** Parts of one message: a model's answer and its tools come to a few hundred at most. */
const MAX_PARTS = 10_000;

/** Keeps the parts of the newest message: a message is one step, and what is lost is always the end. */
export function createPrintedParts(): PrintedParts {
  let messageId: string | undefined;
  let partIds = new Set<string>();
  return {
    add(ofMessage, partId) {
      if (ofMessage !== messageId) partIds = new Set();
      messageId = ofMessage;
      if (partIds.size <= MAX_PARTS) partIds.add(partId);
    },
    newest: () => (messageId === undefined ? undefined : { messageId, partIds }),
    isKnown: () => partIds.size <= MAX_PARTS,
  };
}

const Moment = z.number().optional().catch(undefined);
const Time = z.object({ end: Moment }).optional().catch(undefined);

/** A part as the store keeps it: the same object that `run` prints, whole. */
const StoredPart = z.looseObject({
  id: z.string(),
  type: z.string(),
  time: Time,
  state: z.object({ status: z.string(), time: Time }).optional().catch(undefined),
});
type StoredPart = z.infer<typeof StoredPart>;

/** What `export` prints. Source: docs/contracts/cli-a.md §13. */
const StoredSession = z.object({
  messages: z.array(
    z.object({
      info: z.object({
        id: z.string(),
        role: z.string(),
        time: z.object({ created: z.number(), completed: Moment }),
        error: z.unknown().optional(),
      }),
      parts: z.array(z.unknown()),
    }),
  ),
});
type StoredMessage = z.infer<typeof StoredSession>["messages"][number];

/**
 * How the end of a session is had that the CLI stored and did not print.
 *
 * `run` ends as soon as its prompt is answered, whether or not its own printing loop has come that far: when a provider
 * sends its last deltas at once, or the machine is busy, exit code 0 comes with the answer missing.
 * @see docs/contracts/cli-a.md §1.4, §12.2, which asks for this path; fixture cli-a/1.14.34/tail-lost
 */
export function recoverFromStore(sessionId: string, printed: PrintedParts): Recovery {
  return {
    // Its standard output must be a file: into a pipe it is cut at 64 KiB. Source: docs/contracts/cli-a.md §13.
    args: ["export", sessionId],
    readLines(stored, startedAtMs) {
      const session = StoredSession.safeParse(parse(stored));
      if (!session.success || !printed.isKnown()) return [];
      const rest = selectUnprinted(session.data.messages, printed.newest(), startedAtMs);
      const lines = rest
        // What CLI A says to itself in the user's name, to go on after a summary, is no answer.
        .filter(({ info }) => info.role === "assistant")
        .flatMap((message) => toRecords(message, sessionId, printed.newest()?.partIds ?? new Set()));
      if (lines.length === 0) return [];
      return [{ type: RECOVERED, sessionID: sessionId, records: lines.length }, ...lines].map((line) =>
        JSON.stringify(line),
      );
    },
  };
}

/** The newest message that was printed, of which a part may be missing, and all after it. */
function selectUnprinted(
  messages: readonly StoredMessage[],
  newest: ReturnType<PrintedParts["newest"]>,
  startedAtMs: number,
): readonly StoredMessage[] {
  if (newest === undefined) return messages.filter(({ info }) => info.time.created >= startedAtMs);
  const first = messages.findIndex(({ info }) => info.id === newest.messageId);
  return first === -1 ? [] : messages.slice(first);
}

/** The lines that `run` prints for a message; each part once, in the order of the store. */
function toRecords({ info, parts }: StoredMessage, sessionId: string, printed: ReadonlySet<string>): object[] {
  const records = parts.flatMap((value): object[] => {
    const part = StoredPart.safeParse(value);
    const type = part.success ? recordTypeOf(part.data) : undefined;
    if (!part.success || type === undefined || printed.has(part.data.id)) return [];
    const { time, state } = part.data;
    const at = time?.end ?? state?.time?.end ?? info.time.completed ?? info.time.created;
    return [{ type, timestamp: at, sessionID: sessionId, part: value }];
  });
  if (typeof info.error !== "object" || info.error === null) return records;
  const timestamp = info.time.completed ?? info.time.created;
  return [...records, { type: "error", timestamp, sessionID: sessionId, error: info.error }];
}

/** What `run` prints a part as; undefined for one it does not print, or not yet. Source: docs/contracts/cli-a.md §1. */
function recordTypeOf({ type, time, state }: StoredPart): string | undefined {
  switch (type) {
    case "step-start":
      return "step_start";
    case "step-finish":
      return "step_finish";
    case "text":
    case "reasoning":
      return time?.end === undefined ? undefined : type;
    case "tool":
      return state?.status === "completed" || state?.status === "error" ? "tool_use" : undefined;
    default:
      return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
