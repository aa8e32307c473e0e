import { setTimeout as sleep } from "node:timers/promises";
import { Agent, fetch } from "undici";
import type { z } from "zod";
import { backoffMs } from "../../../kit/retry/backoff.ts";
import { isPassingStatus } from "../../../kit/retry/passing-status.ts";
import { readRetryAfter } from "../../../kit/retry/retry-after.ts";

/** A server of models that an operator has set: an embedding or reranking service with a JSON API. */
export interface ModelServer {
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  readonly key: string | undefined;
}

/** The server did not give an answer that can be used. `status` is that of its last answer, if there was one. */
export class ModelServerFailed extends Error {
  readonly status: number | undefined;

  constructor(message: string, options?: ErrorOptions & { status?: number }) {
    super(message.slice(0, 500), options);
    this.name = "ModelServerFailed";
    this.status = options?.status;
  }
}

const TRIES = 5;
const WAITS = { firstMs: 250, longestMs: 10_000 };
const ANSWER_MS = 60_000;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Asks a model server, again after what passes (`kit/retry`) and after broken connections.
 *
 * @throws {ModelServerFailed}, or the signal's reason
 */
export async function askModelServer<T>(
  server: ModelServer,
  path: string,
  body: unknown,
  options: { readonly schema: z.ZodType<T>; readonly tries?: number; readonly signal: AbortSignal },
): Promise<T> {
  const { schema, tries = TRIES, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const { answer, failure, waitMs } = await askOnce(server, path, body, signal);
    signal.throwIfAborted();
    if (failure === undefined) {
      const parsed = schema.safeParse(answer);
      if (parsed.success) return parsed.data;
      throw new ModelServerFailed(`the model server's answer has another shape: ${parsed.error.message}`);
    }
    if (attempt >= tries || waitMs === undefined) throw failure;
    await sleep(Math.min(WAITS.longestMs, Math.max(waitMs, backoffMs(WAITS, attempt - 1))), undefined, { signal });
  }
}

interface Reply {
  readonly answer?: unknown;
  readonly failure?: ModelServerFailed;
  /** Absent: asking again would not help. */
  readonly waitMs?: number;
}

const connections = new Agent({ connections: 8, maxResponseSize: MOST_BYTES });

async function askOnce(server: ModelServer, path: string, body: unknown, signal: AbortSignal): Promise<Reply> {
  try {
    const response = await fetch(`${server.baseUrl.replace(/\/$/, "")}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(server.key === undefined ? {} : { authorization: `Bearer ${server.key}` }),
      },
      body: JSON.stringify(body),
      redirect: "error",
      dispatcher: connections,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    });
    const text = await response.text();
    if (response.ok) return { answer: parseJson(text) };
    const failure = new ModelServerFailed(`the model server answered ${response.status}: ${text}`, {
      status: response.status,
    });
    if (!isPassingStatus(response.status)) return { failure };
    return { failure, waitMs: readRetryAfter(response.headers) ?? 0 };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { failure: new ModelServerFailed(`the model server was not reached: ${why}`, { cause: error }), waitMs: 0 };
  }
}

/** What is no JSON has no shape that fits. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
