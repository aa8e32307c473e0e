import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProviderError, TokenCount } from "../../src/scripted-model/reply.ts";

type Item = Readonly<Record<string, unknown>>;

/** A piece of an answer. */
export type Piece =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  /** A command, by the tool of either CLI. */
  | { readonly type: "run"; readonly command: string; readonly timeoutMs?: number; readonly yieldMs?: number }
  /** A tool by its name at one CLI; a string stands for arguments that may be no JSON. */
  | { readonly type: "call"; readonly name: string; readonly input: Item | string }
  /** An item of the Responses API, as it is. */
  | { readonly type: "item"; readonly item: Item };

/**
 * How the stream of an answer ends. `none`: without the closing event. `cut`: by a reset. `stall`: nothing more comes.
 * `stopped`: early, for a reason of its own. `event`: by an error event.
 */
export type Ending =
  | "stop"
  | "length"
  | "content-filter"
  | "none"
  | "cut"
  | "stall"
  | ProviderError
  | { readonly stopped: string }
  | { readonly event: ProviderError };

/** A streamed answer. */
export interface Answer {
  readonly do: "answer";
  readonly pieces: readonly Piece[];
  readonly ending: Ending;
  readonly tokens?: TokenCount;
  /** Of the Responses API; null: none. */
  readonly usage?: Item | null;
}

/** An HTTP answer that is no stream of a model, or one word for word. */
export interface HttpAnswer {
  readonly do: "http";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** What the provider does with one request. `hang`: no headers come; `silence`: headers, then nothing. */
export type Reply =
  | Answer
  | HttpAnswer
  | { readonly do: "hang" | "silence" | "reset" }
  | { readonly do: "act"; readonly act: Act };

/** @param whole - the frames of a good answer, in the API that was asked */
export type Act = (request: IncomingMessage, response: ServerResponse, whole: string) => void;

export const text = (words: string): Piece => ({ type: "text", text: words });
export const thought = (words: string): Piece => ({ type: "reasoning", text: words });
export const run = (command: string, more: { timeoutMs?: number; yieldMs?: number } = {}): Piece => ({
  type: "run",
  command,
  ...more,
});
export const call = (name: string, input: Item | string = {}): Piece => ({ type: "call", name, input });

/** An answer of these pieces. */
export const does = (...pieces: readonly Piece[]): Answer => ({ do: "answer", pieces, ending: "stop" });
/** An answer of one text. */
export const say = (words: string, ending: Ending = "stop"): Answer => ({
  do: "answer",
  pieces: [text(words)],
  ending,
});
/** An answer that ends otherwise. */
export const ends = (ending: Ending, ...pieces: readonly Piece[]): Answer => ({ do: "answer", pieces, ending });
/** An answer that fails in its stream, with a code and a sentence. */
export const breaks = (code: string, message: string, ...pieces: readonly Piece[]): Answer =>
  ends({ code, message }, ...pieces);

export const JSON_TYPE = { "content-type": "application/json" };
export const SSE = { "content-type": "text/event-stream" };
export const PLAIN = { "content-type": "text/plain" };

/** Any HTTP answer: a page, plain words, a body as JSON. */
export function http(status: number, body: unknown, headers?: Readonly<Record<string, string>>): HttpAnswer {
  const isRaw = typeof body === "string" || Buffer.isBuffer(body);
  const type = isRaw ? { "content-type": "text/html" } : JSON_TYPE;
  return { do: "http", status, headers: headers ?? type, body: isRaw ? body : JSON.stringify(body) };
}

/** A refusal in the shape that most providers took over from OpenAI. */
export function refuse(
  status: number,
  message: string,
  code: string | null = null,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  const error = { message, type: code ?? "invalid_request_error", param: null, code };
  return http(status, { error }, { ...JSON_TYPE, ...headers });
}

export const DONE = say("Done.");
export const RESET: Reply = { do: "reset" };
export const HANG: Reply = { do: "hang" };
