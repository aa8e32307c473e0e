import PQueue from "p-queue";
import type { Logger } from "pino";
import type { z } from "zod";
import { readRetryAfter } from "../../../kit/retry/retry-after.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import { OutboundFailed, OutboundRefused } from "../../outbound/errors.ts";
import type { Outbound, OutboundAnswer } from "../../outbound/outbound.ts";
import type { Credential } from "./credentials.ts";

/** A system of others that is asked with one key. */
export interface Remote {
  /** @throws {ApiProblem} connector_* */
  ask<Shape extends z.ZodType>(question: RemoteQuestion<Shape>, signal: AbortSignal): Promise<z.output<Shape>>;
}

export interface RemoteQuestion<Shape extends z.ZodType> {
  readonly method: "GET" | "POST";
  /** After the credential's address. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly shape: Shape;
}

export interface RemoteOptions {
  readonly name: string;
  readonly credential: Credential;
  readonly outbound: Outbound;
  readonly logger: Logger;
  readonly answerMs: number;
}

const MAX_BYTES = 5_000_000;
const AT_ONCE = 2;
const LONGEST_RETRY_SECONDS = 3_600;

/** Asks with one credential, two questions at once; no text of the other side's refusal is passed on. */
export function createRemote({ name, credential, outbound, logger, answerMs }: RemoteOptions): Remote {
  const queue = new PQueue({ concurrency: AT_ONCE });
  const base = credential.base_url.replace(/\/+$/, "");

  async function send(question: RemoteQuestion<z.ZodType>, signal: AbortSignal): Promise<OutboundAnswer> {
    const { method, path, body, headers } = question;
    try {
      return await outbound.fetch({
        url: `${base}${path}`,
        method,
        headers: {
          authorization: `Bearer ${credential.api_key}`,
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        timeoutMs: answerMs,
        maxBytes: MAX_BYTES,
        signal,
      });
    } catch (error) {
      throw explain(error, signal);
    }
  }

  return {
    async ask(question, signal) {
      const path = question.path.replace(/\?.*$/, "");
      try {
        const answer = await queue.add(() => send(question, signal), { signal });
        assertAnswered(answer);
        const parsed = question.shape.safeParse(parseJson(answer.body));
        if (parsed.success) return parsed.data;
        throw new ApiProblem("connector_bad_answer", "the connector's answer has another shape than it should");
      } catch (error) {
        const problem = explain(error, signal);
        logger.warn({ credential: name, path, err: problem }, "a connector did not answer");
        throw problem;
      }
    },
  };
}

/** Decides by the status only. @throws {ApiProblem} connector_* */
function assertAnswered({ status, headers }: OutboundAnswer): void {
  if (status >= 200 && status < 300) return;
  if (status === 401 || status === 403)
    throw new ApiProblem("connector_auth_failed", "the connector refused the key that is configured for it");
  if (status === 404)
    throw new ApiProblem("connector_not_found", "the connector does not have what this knowledge base names");
  if (status === 429) {
    const askedMs = readRetryAfter({ get: (name) => headers[name] ?? null });
    const seconds =
      askedMs === undefined ? undefined : Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(askedMs / 1_000)));
    throw new ApiProblem("connector_rate_limited", "the connector takes no more questions for now", {}, seconds);
  }
  throw new ApiProblem("connector_failed", `the connector answered HTTP ${status}`);
}

function explain(error: unknown, signal: AbortSignal): ApiProblem {
  if (error instanceof ApiProblem) return error;
  const isLate = error instanceof OutboundFailed && error.reason === "timeout";
  if (isLate || signal.aborted) return new ApiProblem("connector_timeout", "the connector did not answer in time");
  if (error instanceof OutboundRefused && error.reason === "too_large")
    return new ApiProblem("connector_bad_answer", `the connector's answer has more than ${MAX_BYTES} bytes`);
  if (error instanceof OutboundRefused || error instanceof OutboundFailed)
    return new ApiProblem("connector_failed", `the connector could not be asked (${error.reason})`);
  throw error;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    // What is no JSON has no shape that fits.
    return undefined;
  }
}
