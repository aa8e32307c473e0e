import {
  CancelReceipt,
  ExecutorList,
  ProblemError,
  Readiness,
  SandboxEnvelope,
  Session,
  TurnAdmission,
  TurnResult,
  TurnSnapshot,
  type ExecutorInfo,
  type SandboxInfo,
  type SessionRequest,
  type TurnRequest,
} from "../protocol/index.ts";
import type { z } from "zod";
import { exchange, read, refusal, type Answer, type Call, type TurndAddress } from "./exchange.ts";
import { readEvents, type EventsOptions } from "./events.ts";
import type { ReadEvent } from "./parse-event.ts";

/** What a caller writes; turnd fills in the defaults. */
export type TurnRequestBody = z.input<typeof TurnRequest>;
export type SessionRequestBody = z.input<typeof SessionRequest>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * turnd's `/v1`, typed. Each call asks once; only `events` comes back by itself.
 *
 * Refusals are thrown as {@link ProblemError}, silence as `TurndUnreachable`, another shape as `TurndProtocolError`.
 */
export interface TurndClient {
  /** Admits a turn; safe to repeat with the same `request_id` and body. */
  admit(
    request: TurnRequestBody,
    options?: CallOptions & { readonly traceparent?: string | undefined },
  ): Promise<TurnAdmission>;
  createSession(request: SessionRequestBody, options?: CallOptions): Promise<Session>;
  session(sessionId: string, options?: CallOptions): Promise<Session>;
  /** Ends the session's turns and removes it. */
  deleteSession(sessionId: string, options?: CallOptions): Promise<void>;
  turn(turnId: string, options?: CallOptions): Promise<TurnSnapshot>;
  /** The turn a request was admitted as; undefined when turnd has none. That of a deleted session is `session_not_found`. */
  turnOfRequest(requestId: string, options?: CallOptions): Promise<TurnSnapshot | undefined>;
  /** See {@link readEvents}. */
  events(turnId: string, options: EventsOptions): AsyncIterable<ReadEvent>;
  result(turnId: string, options?: CallOptions): Promise<TurnResult>;
  /** Answers when no process of the turn is left. */
  cancel(turnId: string, options?: CallOptions): Promise<CancelReceipt>;
  /** Whether a turn could run now; a `no` is an answer too. */
  ready(options?: CallOptions): Promise<Readiness>;
  sandbox(options?: CallOptions): Promise<SandboxInfo>;
  executors(options?: CallOptions): Promise<readonly ExecutorInfo[]>;
}

const ANSWER_MS = 30_000;
/** A cancel waits for the process tree; a deletion for the files, too. */
const ENDING_MS = 120_000;

/** A client of the turnd at an address. It holds nothing that has to be closed. */
export function createTurndClient(address: TurndAddress): TurndClient {
  async function ask(call: Omit<Call, "timeoutMs"> & { readonly timeoutMs?: number }): Promise<Answer> {
    const answer = await exchange(address, { timeoutMs: ANSWER_MS, ...call });
    if (answer.status < 200 || answer.status > 299) throw refusal(answer, call);
    return answer;
  }
  async function get<T extends z.ZodType>(schema: T, path: string, options: CallOptions = {}): Promise<z.output<T>> {
    const call = { method: "GET", path, ...options } as const;
    return read(schema, await ask(call), call);
  }
  async function post<T extends z.ZodType>(
    schema: T,
    call: Omit<Call, "method" | "timeoutMs"> & { readonly timeoutMs?: number },
  ) {
    return read(schema, await ask({ method: "POST", ...call }), { method: "POST", path: call.path });
  }

  return {
    admit: (body, { traceparent, ...options } = {}) =>
      post(TurnAdmission, {
        path: "/v1/turns",
        body,
        ...(traceparent === undefined ? {} : { headers: { traceparent } }),
        ...options,
      }),
    createSession: (body, options = {}) => post(Session, { path: "/v1/sessions", body, ...options }),
    session: (id, options) => get(Session, `/v1/sessions/${encodeURIComponent(id)}`, options),
    async deleteSession(id, options = {}) {
      await ask({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(id)}`, timeoutMs: ENDING_MS, ...options });
    },
    turn: (id, options) => get(TurnSnapshot, `/v1/turns/${encodeURIComponent(id)}`, options),
    async turnOfRequest(id, options) {
      try {
        return await get(TurnSnapshot, `/v1/requests/${encodeURIComponent(id)}`, options);
      } catch (error) {
        if (error instanceof ProblemError && error.code === "request_not_found") return undefined;
        throw error;
      }
    },
    events: (id, options) => readEvents(address, id, options),
    result: (id, options) => get(TurnResult, `/v1/turns/${encodeURIComponent(id)}/result`, options),
    cancel: (id, options = {}) =>
      post(CancelReceipt, { path: `/v1/turns/${encodeURIComponent(id)}/cancel`, timeoutMs: ENDING_MS, ...options }),
    async ready(options = {}) {
      const call = { method: "GET", path: "/v1/ready", ...options } as const;
      const answer = await exchange(address, { timeoutMs: ANSWER_MS, ...call });
      if (answer.status !== 200 && answer.status !== 503) throw refusal(answer, call);
      return read(Readiness, answer, call);
    },
    sandbox: async (options) => (await get(SandboxEnvelope, "/v1/sandbox", options)).data,
    executors: async (options) => (await get(ExecutorList, "/v1/executors", options)).executors,
  };
}
