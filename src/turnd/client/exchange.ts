import type * as z from "zod";
import { isServerSide } from "../../kit/retry/passing-status.ts";
import { readRetryAfter } from "../../kit/retry/retry-after.ts";
import { Problem, ProblemError, type Tolerant } from "../protocol/index.ts";
import { AnsweredProblem, TurndProtocolError, TurndUnreachable } from "./errors.ts";
import { parseTolerant } from "./tolerant.ts";
import type { Incoming, OutgoingBody, Transport } from "./transport.ts";

/** Where turnd is and how it is asked. */
export interface Endpoint {
  /** Without a slash at its end; may be relative to a page. */
  readonly baseUrl: string;
  readonly token: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  readonly transport: Transport;
}

/** One request. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** Sent as they are, in place of a body. */
  readonly bytes?: OutgoingBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest wait for the whole answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call as messages name it. */
export type CallName = Pick<Call, "method" | "path">;

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfterMs?: number | undefined;
}

/** How much of a strange answer is quoted. */
const QUOTED = 200;

/**
 * Asks once, and reads the whole answer.
 *
 * @throws {TurndUnreachable} when no answer came in time, or a 5xx that is no problem of turnd's
 * @throws the signal's reason when it aborts
 */
export function exchange(endpoint: Endpoint, call: Call): Promise<Answer> {
  return within(endpoint, call, async (answer) => readAnswer(answer, await answer.text(), call));
}

/**
 * Asks once, and reads the part of the answer that is wanted; reading the rest has no time limit.
 *
 * @throws as {@link exchange}
 */
export async function within<T>(endpoint: Endpoint, call: Call, take: (answer: Incoming) => Promise<T>): Promise<T> {
  const { signal } = call;
  signal?.throwIfAborted();
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`no answer for ${call.timeoutMs} ms`)), call.timeoutMs);
  try {
    const until = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
    return await take(await send(endpoint, call, until));
  } catch (error) {
    if ([ProblemError, TurndProtocolError, TurndUnreachable].some((known) => error instanceof known)) throw error;
    signal?.throwIfAborted();
    throw new TurndUnreachable(`${describeCall(call)}: ${describeCause(error)}`, error);
  } finally {
    clearTimeout(timer);
  }
}

/** Sends a request; the answer's body is still to be read. */
export async function send(
  { baseUrl, token, transport }: Endpoint,
  call: Omit<Call, "timeoutMs">,
  signal: AbortSignal,
): Promise<Incoming> {
  const bearer = typeof token === "function" ? await token() : token;
  signal.throwIfAborted();
  return transport(`${baseUrl}${call.path}`, {
    method: call.method,
    headers: {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(call.body === undefined ? {} : { "content-type": "application/json" }),
      ...(call.bytes === undefined ? {} : { "content-type": "application/octet-stream" }),
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    ...(call.bytes === undefined ? {} : { body: call.bytes }),
    signal,
  });
}

/** Reads the body of a successful answer. @throws {TurndProtocolError} for one of another shape */
export function read<T extends z.ZodType>(schema: T, { status, body }: Answer, call: CallName): Tolerant<z.output<T>> {
  const parsed = parseTolerant(schema, body);
  if (parsed.success) return parsed.data;
  throw new TurndProtocolError(`${describeCall(call)}: ${status} with a body of another shape`, parsed.error);
}

/** The error for what turnd refused. */
export function refusal({ status, body, retryAfterMs }: Answer, call: CallName): Error {
  const parsed = parseTolerant(Problem, body);
  if (parsed.success) {
    const { code, message, fields, ...rest } = parsed.data.detail;
    const retryAfterSeconds = retryAfterMs === undefined ? undefined : retryAfterMs / 1_000;
    const extras = { ...rest, ...(fields === undefined ? {} : { fields }) };
    return new AnsweredProblem(code, message, { status, extras, retryAfterSeconds });
  }
  const quoted = JSON.stringify(body)?.slice(0, QUOTED) ?? "nothing";
  const message = `${describeCall(call)}: ${status} ${quoted}`;
  return isServerSide(status)
    ? new TurndUnreachable(message, undefined, retryAfterMs)
    : new TurndProtocolError(message);
}

/**
 * Parses an answer's text.
 *
 * @throws {TurndUnreachable} for a proxy's page in place of a turnd that is down
 * @throws {TurndProtocolError} for another one that is no JSON
 */
export function readAnswer({ status, headers }: Incoming, text: string, call: CallName): Answer {
  const retryAfterMs = readRetryAfter(headers);
  if (text === "") return { status, body: undefined, retryAfterMs };
  try {
    return { status, body: JSON.parse(text), retryAfterMs };
  } catch (error) {
    const message = `${describeCall(call)}: ${status} without JSON: ${text.slice(0, QUOTED)}`;
    if (isServerSide(status)) throw new TurndUnreachable(message, error, retryAfterMs);
    throw new TurndProtocolError(message, error);
  }
}

export function describeCall({ method, path }: CallName): string {
  return `turnd ${method} ${path}`;
}

/** The fault and its causes, in one line. */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
