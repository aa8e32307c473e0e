import { setTimeout as delay } from "node:timers/promises";
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

export interface Answer {
  readonly status: number;
  // The soak looks into bodies of every shape.
  readonly body: ReturnType<typeof JSON.parse>;
}

/** Calls as one user, until there is an answer: a process that was killed owes one. */
export interface Caller {
  readonly stage: Stage;
  readonly random: Random;
  readonly counts: Counts;
  readonly headers: Readonly<Record<string, string>>;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** One call may wait for a lease, a restart of the database and a start of the process that answers. */
const CALL_LIMIT_MS = 120_000;
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
          const response = await fetch(`${random.pick(stage.urls)}${path}`, {
            method,
            headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            signal: AbortSignal.timeout(60_000),
          });
          const text = await response.text();
          if (!TRANSIENT.has(response.status)) return { status: response.status, body: JSON.parse(text) };
          last = `${response.status} ${text}`;
        } catch (error) {
          // The connection broke, or the answer broke off.
          last = error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error);
        }
        counts.retries += 1;
        await delay(random.between(50, 500));
      }
    },
  };
}
