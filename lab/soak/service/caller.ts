import { setTimeout as delay } from "node:timers/promises";
import { Agent, request } from "undici";
import { z } from "zod";
import { describeError } from "../describe-error.ts";
import type { Random } from "../random.ts";
import type { Stage } from "./stage.ts";

/** What was done to the service, counted. */
export interface Counts {
  requests: number;
  runs: number;
  steers: number;
  cancels: number;
  resumes: number;
  retries: number;
  connections: number;
  events: number;
}

export type Method = "GET" | "POST" | "PUT" | "DELETE";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Calls as one user, until there is an answer: a process that was killed answers after its restart. */
export interface Caller {
  readonly stage: Stage;
  readonly random: Random;
  readonly counts: Counts;
  readonly headers: Readonly<Record<string, string>>;
  call(method: Method, path: string, body?: unknown): Promise<Answer>;
}

/** One call may wait for a lease, a restart of the database and a start of the process that answers. */
const CALL_LIMIT_MS = 120_000;
/** Not Node's `fetch`, which waits 1 ms before each use of a kept connection: a measure would be of that. */
const connections = new Agent();
/** An answer that says "not now": a database that is restarted, a process that starts. */
const TRANSIENT = new Set([502, 503]);

/** Makes one that asks any of the API's processes. */
export function createCaller(given: Omit<Caller, "call" | "headers">, token: string | undefined): Caller {
  const { stage, random, counts } = given;
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    ...given,
    headers,
    async call(method, path, body) {
      const deadline = performance.now() + CALL_LIMIT_MS;
      let last = "no answer";
      for (;;) {
        if (performance.now() > deadline) throw new Error(`${method} ${path}: ${last}, for ${CALL_LIMIT_MS} ms`);
        try {
          const { statusCode: status, body: stream } = await request(`${random.pick(stage.urls)}${path}`, {
            method,
            headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            signal: AbortSignal.timeout(60_000),
            dispatcher: connections,
          });
          const text = await stream.text();
          if (!TRANSIENT.has(status)) return { status, body: z.json().parse(JSON.parse(text)) };
          last = `${status} ${text}`;
        } catch (error) {
          // The connection broke, or the answer broke off.
          last = describeError(error);
        }
        counts.retries += 1;
        await delay(random.between(50, 500));
      }
    },
  };
}

/** Refusals that are right where two things happen at once. */
const RACES: ReadonlySet<string> = new Set([
  "run_not_steerable",
  "steer_already_pending",
  "steer_in_progress",
  "request_already_dispatched",
  "request_not_queued",
  "queue_empty",
  "run_active",
  "run_interrupted",
]);
const Refusal = z.object({ detail: z.object({ code: z.string() }) });

/** A call that may come too late. @returns undefined where a race explains the refusal; @throws at any other */
export async function tryTo<T>(caller: Caller, schema: z.ZodType<T>, asking: Asking): Promise<T | undefined> {
  const [method, path, body] = asking;
  const answer = await caller.call(method, path, body);
  if (answer.status === 200) return schema.parse(answer.body);
  const code = Refusal.safeParse(answer.body).data?.detail.code;
  if (answer.status === 409 && code !== undefined && RACES.has(code)) return undefined;
  throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

/** A call that has to be answered with 200. */
export async function ask<T>(caller: Caller, schema: z.ZodType<T>, asking: Asking): Promise<T> {
  const found = await tryTo(caller, schema, asking);
  if (found === undefined) throw new Error(`${asking[0]} ${asking[1]} was refused`);
  return found;
}

/** Method, path and body. */
export type Asking = readonly [method: Method, path: string, body?: unknown];
