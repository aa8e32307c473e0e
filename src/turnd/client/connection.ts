import { createParser } from "eventsource-parser";
import { TurndProtocolError, TurndUnreachable } from "./errors.ts";
import { describeCall, readAnswer, refusal, send, type Endpoint } from "./exchange.ts";
import type { SentLine } from "./parse-event.ts";
import { chunksOf, type Incoming } from "./transport.ts";

/** One connection that reads events. */
export interface ConnectionOptions {
  /** Of the last event that was read; undefined: from the beginning. */
  readonly lastEventId: string | undefined;
  /** `stream` follows; `poll` asks for what is there. */
  readonly how: "stream" | "poll";
  /** Longest wait for a byte. */
  readonly silentAfterMs: number;
  readonly signal: AbortSignal | undefined;
  /** Ends only this connection. */
  readonly connection: AbortController;
}

/** The connection's reason to end where the turn has ended and the cursor is at its end. */
export const NOTHING_MORE = new Error("nothing more will follow");

/** Longest wait for an answer's head. */
const HEAD_MS = 10_000;

/**
 * The lines of one connection as they come; an empty batch says that a byte came.
 *
 * @param path - of a turn's or a session's events, with its query
 * @throws what turnd refuses, what the connection broke with, or the signal's reason
 */
export async function* readConnection(
  endpoint: Endpoint,
  path: string,
  options: ConnectionOptions,
): AsyncGenerator<SentLine[]> {
  const { lastEventId, how, silentAfterMs, signal, connection } = options;
  const both = signal === undefined ? connection.signal : AbortSignal.any([connection.signal, signal]);
  const call = { method: "GET", path } as const;
  const type = how === "stream" ? "text/event-stream" : "application/x-ndjson";
  const headers = { accept: type, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) };
  const headMs = Math.min(HEAD_MS, silentAfterMs);
  const answer = await within(headMs, "no answer", connection, () => send(endpoint, { ...call, headers }, both));
  if (answer.status === 204) {
    connection.abort(NOTHING_MORE);
    return;
  }
  if (answer.status !== 200) {
    const text = await within(silentAfterMs, "silent", connection, () => answer.text());
    throw refusal(readAnswer(answer, text, call), call);
  }
  assertType(answer, type, describeCall(call));
  const reader = how === "stream" ? createFrameReader() : createLineReader();
  // What is cut off in the middle of a character never becomes a line: it is asked for again.
  const decoder = new TextDecoder();
  const chunks = chunksOf(answer.body);
  try {
    for (;;) {
      const { done, value } = await within(silentAfterMs, "silent", connection, () => chunks.next());
      if (done === true) return;
      yield reader.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    await chunks.return(undefined);
  }
}

/** A page in place of events, such as a proxy's login, would otherwise be a stream in which nothing happens. */
function assertType({ headers }: Incoming, wanted: string, what: string): void {
  const type = headers.get("content-type") ?? "";
  if (type.split(";")[0]?.trim().toLowerCase() !== wanted) {
    throw new TurndProtocolError(`${what}: 200 with ${JSON.stringify(type)} in place of ${wanted}`);
  }
}

interface LineReader {
  feed(text: string): SentLine[];
}

function createFrameReader(): LineReader {
  const lines: SentLine[] = [];
  const parser = createParser({
    onEvent({ id, event, data }) {
      if (event === "error") throw new TurndUnreachable(`turnd's stream failed: ${data}`);
      lines.push({ line: data, id, isEnd: event === "end" });
    },
  });
  return {
    feed(text) {
      parser.feed(text);
      return lines.splice(0);
    },
  };
}

function createLineReader(): LineReader {
  let rest = "";
  return {
    feed(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      return lines.map((line) => ({ line }));
    },
  };
}

/** @throws what ends the connection when the work takes longer */
async function within<T>(
  limitMs: number,
  what: string,
  connection: AbortController,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => connection.abort(new Error(`${what} for ${limitMs} ms`)), limitMs);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
