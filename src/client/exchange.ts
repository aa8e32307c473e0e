import type { z } from "zod";
import { Problem, ProblemError } from "../protocol/index.ts";
import { TurndProtocolError, TurndUnreachable } from "./errors.ts";
import { sendOverHttp, type Incoming, type Transport } from "./transport.ts";

/** Where turnd is and how it is asked. */
export interface TurndAddress {
  /** Such as `http://127.0.0.1:8091`. */
  readonly baseUrl: string;
  readonly token?: string | undefined;
  /** Sends the requests; absent: over HTTP. */
  readonly transport?: Transport | undefined;
}

/** One request. */
export interface Call {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest wait for the whole answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** How much of a strange answer is quoted. */
const QUOTED = 200;

/**
 * Asks once, and reads the whole answer.
 *
 * @throws {TurndUnreachable} when no answer came in time, or a 5xx that is no problem of turnd's
 * @throws the signal's reason when it aborts
 */
export async function exchange(address: TurndAddress, call: Call): Promise<Answer> {
  const { signal } = call;
  signal?.throwIfAborted();
  const limit = AbortSignal.timeout(call.timeoutMs);
  try {
    const response = await send(address, call, signal === undefined ? limit : AbortSignal.any([limit, signal]));
    const text = await response.body.text();
    return { status: response.statusCode, body: parseBody(response.statusCode, text, call) };
  } catch (error) {
    if (error instanceof TurndProtocolError || error instanceof TurndUnreachable) throw error;
    signal?.throwIfAborted();
    throw new TurndUnreachable(`${describe(call)}: ${describeCause(error)}`, error);
  }
}

/** Sends a request; the answer's body is still to be read. */
export function send(
  { baseUrl, token, transport = sendOverHttp }: TurndAddress,
  call: Omit<Call, "timeoutMs">,
  signal: AbortSignal,
): Promise<Incoming> {
  return transport(`${baseUrl.replace(/\/$/, "")}${call.path}`, {
    method: call.method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(call.body === undefined ? {} : { "content-type": "application/json" }),
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    signal,
  });
}

/** Reads the body of an answer that is as it should be. @throws {TurndProtocolError} for one of another shape */
export function read<T extends z.ZodType>(
  schema: T,
  { status, body }: Answer,
  call: Pick<Call, "method" | "path">,
): z.output<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new TurndProtocolError(`${describe(call)}: ${status} with a body of another shape`, parsed.error);
}

/** What turnd refused, ready to be thrown. */
export function refusal({ status, body }: Answer, call: Pick<Call, "method" | "path">): Error {
  const parsed = Problem.safeParse(body);
  if (parsed.success) {
    const { code, message, fields, ...extras } = parsed.data.detail;
    return new ProblemError(code, message, { ...extras, ...(fields === undefined ? {} : { fields }) });
  }
  const quoted = JSON.stringify(body)?.slice(0, QUOTED) ?? "nothing";
  const message = `${describe(call)}: ${status} ${quoted}`;
  return status >= 500 ? new TurndUnreachable(message) : new TurndProtocolError(message);
}

function parseBody(status: number, text: string, call: Call): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = `${describe(call)}: ${status} without JSON: ${text.slice(0, QUOTED)}`;
    // A proxy in between answers for a turnd that is down with a page of its own.
    if (status >= 500) throw new TurndUnreachable(message);
    throw new TurndProtocolError(message, error);
  }
}

function describe({ method, path }: Pick<Call, "method" | "path">): string {
  return `turnd ${method} ${path}`;
}

/** What broke, with what that came of. */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
