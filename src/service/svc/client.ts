import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { EXIT, exitCodeOf, SvcError, usageError } from "./exit-codes.ts";
import { safeLine } from "../../kit/command-line/text.ts";
import { backoffMs } from "../../kit/retry/backoff.ts";
import { isPassingStatus, readStatus } from "../../kit/retry/passing-status.ts";
import { readRetryAfter } from "../../kit/retry/retry-after.ts";

/** Asks the service. */
export interface Client {
  readonly url: string;
  /** @throws {SvcError} whatever the service refused, and what did not reach it */
  call(request: Call): Promise<unknown>;
}

/** A call of the API. */
export interface Call {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** A body that is streamed; made anew for every try. */
  readonly stream?: () => StreamedBody;
  /** Whether it may have been done already and be sent again; GET and DELETE may. */
  readonly isRepeatable?: boolean;
  readonly timeoutMs?: number;
}

export interface StreamedBody {
  readonly contentType: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface ClientOptions {
  readonly url: string;
  readonly apiKey?: string | undefined;
  readonly signal: AbortSignal;
}

const TRIES = 4;
const PAUSES = { firstMs: 500, longestMs: 30_000 };
/** An answer of the service waits for an embedding and a reranking service, 30 s each. */
const ANSWER_MS = 120_000;

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly body: unknown;
}

/** Asks one service with one key. What is busy or down for a moment is asked again, up to four times in all. */
export function createClient({ url, apiKey, signal }: ClientOptions): Client {
  async function send(call: Call): Promise<Answer> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) query.set(name, String(value));
    const streamed = call.stream?.();
    const contentType = streamed?.contentType ?? (call.body === undefined ? undefined : "application/json");
    const clock = createIdleClock(call.timeoutMs ?? ANSWER_MS);
    try {
      const response = await fetch(`${url}${call.path}${query.size === 0 ? "" : `?${query.toString()}`}`, {
        method: call.method,
        headers: {
          accept: "application/json",
          "user-agent": "svc-cli",
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
          ...(contentType === undefined ? {} : { "content-type": contentType }),
        },
        // A key goes to the address that it was given for, and to no other.
        redirect: "manual",
        signal: AbortSignal.any([signal, clock.signal]),
        ...(streamed === undefined ? {} : { body: clock.watch(streamed.chunks), duplex: "half" as const }),
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      });
      const text = await response.text();
      return { status: response.status, retryAfterMs: readRetryAfter(response.headers), body: parseJson(text) };
    } catch (error) {
      throw explainFault(error, url, { isStopped: signal.aborted, isLate: clock.signal.aborted });
    } finally {
      clock.stop();
    }
  }

  return {
    url,
    async call(call) {
      const empty = call.path.split("/").find((part, at) => at > 0 && /^\.{0,2}$/.test(part));
      // As a part of a URL it would be another route's.
      if (empty !== undefined) throw usageError(`${JSON.stringify(empty)} is no id`);
      const isRepeatable = call.isRepeatable ?? call.method !== "POST";
      for (let tried = 1; ; tried += 1) {
        const last = tried === TRIES;
        let pauseMs = backoffMs(PAUSES, tried - 1);
        try {
          const answer = await send(call);
          if (answer.status < 300) return answer.body;
          const refusal = explainRefusal(answer);
          if (last || !mayAskAgain(answer.status, isRepeatable)) throw refusal;
          pauseMs = Math.min(PAUSES.longestMs, Math.max(pauseMs, answer.retryAfterMs ?? 0));
        } catch (error) {
          const isUnreachable = error instanceof SvcError && error.status === null && error.code === "unreachable";
          if (last || !isRepeatable || !isUnreachable) throw error;
        }
        await delay(pauseMs, undefined, { signal }).catch(() => {
          throw interrupted();
        });
      }
    },
  };
}

/** A busy service has done nothing; one that failed may have done its work. */
function mayAskAgain(status: number, isRepeatable: boolean): boolean {
  return readStatus(status) === "busy" || (isRepeatable && isPassingStatus(status));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the service's: a proxy's page, or nothing. The status is all that is known.
    return undefined;
  }
}

/** The body of a refusal: `{detail: {code, message}}`, or a list of the fields that are wrong. */
function explainRefusal({ status, body }: Answer): SvcError {
  const common = { status, exitCode: exitCodeOf(status) };
  const detail = isRecord(body) ? body["detail"] : undefined;
  if (Array.isArray(detail)) {
    const faults = detail.flatMap((field: unknown) =>
      isRecord(field) && Array.isArray(field["loc"]) ? [`${field["loc"].join(".")}: ${String(field["msg"])}`] : [],
    );
    return new SvcError("invalid_request", faults.join("; "), { ...common, details: { fields: detail } });
  }
  if (isRecord(detail) && typeof detail["code"] === "string") {
    const { code, message, ...details } = detail;
    return new SvcError(code, String(message), { ...common, details });
  }
  const isRedirect = status >= 300 && status < 400;
  return new SvcError(
    `http_${status}`,
    isRedirect ? "the address leads elsewhere: log in with the one it leads to" : `the answer was HTTP ${status}`,
    common,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function explainFault(error: unknown, url: string, why: { isStopped: boolean; isLate: boolean }): unknown {
  if (why.isStopped) return interrupted();
  if (why.isLate)
    return new SvcError("timed_out", `${url} did not answer in time`, { exitCode: EXIT.unreachable, cause: error });
  // A fault of the file that is sent, not of the connection.
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof SvcError) return cause;
  const code = isRecord(cause) && typeof cause["code"] === "string" ? ` (${cause["code"]})` : "";
  return new SvcError("unreachable", `${url} is not reachable${safeLine(code)}`, {
    exitCode: EXIT.unreachable,
    cause: error,
  });
}

/** Ctrl-C. */
export function interrupted(): SvcError {
  return new SvcError("interrupted", "interrupted", { exitCode: EXIT.interrupted });
}

/** Ends a call without data for too long; a body that still arrives is fine, however long it takes. */
function createIdleClock(timeoutMs: number) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  return {
    signal: controller.signal,
    async *watch(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        timer.refresh();
        yield chunk;
      }
      timer.refresh();
    },
    stop: () => clearTimeout(timer),
  };
}

/** Reads an answer by its shape. @throws {SvcError} bad_answer */
export function readAnswer<Shape extends z.ZodType>(shape: Shape, body: unknown): z.output<Shape> {
  const read = shape.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new SvcError("bad_answer", `not an answer of this service's API: ${issue?.path.join(".")}: ${issue?.message}`);
}
