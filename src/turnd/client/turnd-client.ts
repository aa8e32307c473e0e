import type * as z from "zod";
import {
  CancelReceipt,
  ExecutorInfo,
  ExecutorList,
  Health,
  ProblemError,
  RawRecords,
  Readiness,
  RecordingDocument,
  SandboxEnvelope,
  Session,
  SessionList,
  TurnAdmission,
  TurnApprovals,
  TurnInputText,
  TurnList,
  TurnResult,
  TurnSnapshot,
  type ApprovalAnswer,
  type ApprovalDecision,
  type QuestionAnswer,
  type ReplayRequest,
  type SandboxInfo,
  type SessionRequest,
  type Tolerant,
  type TurnRequest,
  type TurnStatus,
} from "../protocol/index.ts";
import { readBaseUrl } from "./base-url.ts";
import { eachItem } from "./each-item.ts";
import { exchange, read, refusal, type Answer, type Call, type Endpoint } from "./exchange.ts";
import { createFilesClient, type FilesClient } from "./files.ts";
import { followTurn, type Following, type FollowOptions } from "./follow.ts";
import { followSession, type SessionFollowing, type SessionFollowOptions } from "./follow-session.ts";
import { idSegment, sessionPath, turnPath } from "./paths.ts";
import { newRequestId } from "./request-id.ts";
import { repeatedly, type RetryOptions } from "./retry.ts";
import { createFetchTransport, type Transport } from "./transport.ts";
import { waitForResult, type WaitOptions } from "./wait.ts";

/** What a caller writes; turnd fills in the defaults. */
export type TurnRequestBody = z.input<typeof TurnRequest>;
export type SessionRequestBody = z.input<typeof SessionRequest>;
export type ReplayRequestBody = Omit<z.input<typeof ReplayRequest>, "recording"> & {
  /** As `recording` answers it, or a file holds it. */
  readonly recording: Tolerant<z.input<typeof ReplayRequest>["recording"]>;
};

/** Where turnd is, how callers prove who they are, and how calls are repeated. */
export interface TurndClientOptions extends RetryOptions {
  /** Such as `http://127.0.0.1:8091`; in a page that turnd serves `""`. */
  readonly baseUrl: string;
  /** The bearer token, or what gets it for each request; absent where turnd has none or a cookie takes its place. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** When a browser sends its cookies; by default to the page's own origin. */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
  /** Sends the requests; absent: the platform's `fetch`. */
  readonly transport?: Transport | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** W3C Trace Context: the turn belongs to this trace. */
  readonly traceparent?: string | undefined;
}

/** Which turns are listed; the newest come first. */
export interface TurnsOptions extends CallOptions {
  readonly sessionId?: string | undefined;
  readonly status?: TurnStatus | undefined;
  /** Up to 1000; 100. */
  readonly limit?: number | undefined;
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Which sessions are listed; the newest come first. */
export interface SessionsOptions extends CallOptions {
  /** Up to 1000, the default. */
  readonly limit?: number | undefined;
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Which lines of which file; absent: the first hundred of stdout. */
export interface RecordsOptions extends CallOptions {
  readonly source?: "stdout" | "stderr" | undefined;
  /** 1-based. */
  readonly from?: number | undefined;
  /** Up to 1000. */
  readonly limit?: number | undefined;
}

/**
 * turnd's `/v1`, typed.
 *
 * Refusals are thrown as {@link ProblemError}, silence as `TurndUnreachable`, another shape as `TurndProtocolError`. What is safe to
 * repeat (every GET, `submit`, `replay`, `cancel`) is tried again, within {@link RetryOptions} and after any `Retry-After`,
 * when turnd does not answer or says that it cannot just now. A session is made and deleted by one try.
 */
export interface TurndClient extends FilesClient {
  /** Admits a turn. The same `request_id` and body are the same turn; one without `request_id` gets a new id here. */
  submit(request: TurnRequestBody, options?: SubmitOptions): Promise<Tolerant<TurnAdmission>>;
  /** See {@link followTurn}. */
  follow(turnId: string, options?: FollowOptions): Following;
  /** Follows all turns of a session, those that are still to come too. See {@link followSession}. */
  followSession(sessionId: string, options?: SessionFollowOptions): SessionFollowing;
  /** The result of a turn as soon as it has ended. */
  wait(turnId: string, options?: WaitOptions): Promise<Tolerant<TurnResult>>;
  /** Resolves when no process of the turn is left; a repeat answers `already_ended`. */
  cancel(turnId: string, options?: CallOptions): Promise<Tolerant<CancelReceipt>>;
  turn(turnId: string, options?: CallOptions): Promise<Tolerant<TurnSnapshot>>;
  /** What a turn waits for a person to answer. */
  approvals(turnId: string, options?: CallOptions): Promise<Tolerant<TurnApprovals>>;
  /** Answers an approval; the same answer may be given again. */
  decide(
    turnId: string,
    approvalId: string,
    decision: ApprovalDecision | ApprovalAnswer,
    options?: CallOptions,
  ): Promise<Tolerant<TurnApprovals>>;
  /** Answers what a model asks; the same answer may be given again. */
  answer(
    turnId: string,
    questionId: string,
    answers: QuestionAnswer["answers"],
    options?: CallOptions,
  ): Promise<Tolerant<TurnApprovals>>;
  /** One page of turns. */
  turns(options?: TurnsOptions): Promise<readonly Tolerant<TurnSnapshot>[]>;
  /** The same, with the cursor of the next page. */
  turnPage(options?: TurnsOptions): Promise<Tolerant<TurnList>>;
  /**
   * Every turn, page by page as the caller iterates; a page has `limit`, up to 1000. Turns that are added or deleted meanwhile
   * make none of the others come twice or not at all.
   */
  eachTurn(options?: Omit<TurnsOptions, "cursor">): AsyncIterable<Tolerant<TurnSnapshot>>;
  /** The turn a request was admitted as; undefined when turnd has none. That of a deleted session is `session_not_found`. */
  turnOfRequest(requestId: string, options?: CallOptions): Promise<Tolerant<TurnSnapshot> | undefined>;
  /** @param options.explain - with every rule that was tried */
  result(turnId: string, options?: CallOptions & { readonly explain?: boolean }): Promise<Tolerant<TurnResult>>;
  createSession(request: SessionRequestBody, options?: CallOptions): Promise<Tolerant<Session>>;
  session(sessionId: string, options?: CallOptions): Promise<Tolerant<Session>>;
  /** One page of sessions. */
  sessions(options?: SessionsOptions): Promise<readonly Tolerant<Session>[]>;
  /** The same, with the cursor of the next page. */
  sessionPage(options?: SessionsOptions): Promise<Tolerant<SessionList>>;
  /** Every session, as `eachTurn` for turns. */
  eachSession(options?: Omit<SessionsOptions, "cursor">): AsyncIterable<Tolerant<Session>>;
  /** Ends the session's turns and removes it. */
  deleteSession(sessionId: string, options?: CallOptions): Promise<void>;
  /** The input of a turn. */
  input(turnId: string, options?: CallOptions): Promise<Tolerant<TurnInputText>>;
  /** Lines of what a turn's CLI has printed so far, with the numbers that events' `native` has. */
  records(turnId: string, options?: RecordsOptions): Promise<Tolerant<RawRecords>>;
  /** An ended turn as a document that `replay` takes. */
  recording(turnId: string, options?: CallOptions): Promise<Tolerant<RecordingDocument>>;
  /** Plays a recording as a turn; ids as for `submit`. */
  replay(request: ReplayRequestBody, options?: SubmitOptions): Promise<Tolerant<TurnAdmission>>;
  executors(options?: CallOptions): Promise<readonly Tolerant<ExecutorInfo>[]>;
  executor(executorId: string, options?: CallOptions): Promise<Tolerant<ExecutorInfo>>;
  /** Whether a turn could run now; a `no` is an answer too. */
  ready(options?: CallOptions): Promise<Tolerant<Readiness>>;
  health(options?: CallOptions): Promise<Tolerant<Health>>;
  sandbox(options?: CallOptions): Promise<Tolerant<SandboxInfo>>;
}

const ANSWER_MS = 30_000;
/** A cancel waits for the process tree; a deletion for the files, too; a recording may be large. */
const LONG_ANSWER_MS = 120_000;

type CallRequest = Omit<Call, "timeoutMs"> & { readonly timeoutMs?: number };

/** A client of the turnd at an address; there is nothing to close. @throws {TypeError} for a bad address */
export function createTurndClient(options: TurndClientOptions): TurndClient {
  const endpoint: Endpoint = {
    baseUrl: readBaseUrl(options.baseUrl),
    token: options.token,
    transport: options.transport ?? createFetchTransport(options.credentials),
  };

  async function once(call: CallRequest): Promise<Answer> {
    const answer = await exchange(endpoint, { timeoutMs: ANSWER_MS, ...call });
    if (answer.status < 200 || answer.status > 299) throw refusal(answer, call);
    return answer;
  }
  function ask<T extends z.ZodType>(schema: T, call: CallRequest): Promise<Tolerant<z.output<T>>> {
    return repeatedly(options, call.signal, async () => read(schema, await once(call), call));
  }
  function get<T extends z.ZodType>(
    schema: T,
    path: string,
    { signal }: CallOptions = {},
  ): Promise<Tolerant<z.output<T>>> {
    return ask(schema, { method: "GET", path, signal });
  }
  function admit(path: string, body: { request_id?: string | undefined }, how: SubmitOptions = {}) {
    const { traceparent, signal } = how;
    return ask(TurnAdmission, {
      method: "POST",
      path,
      body: { ...body, request_id: body.request_id ?? newRequestId() },
      ...(traceparent === undefined ? {} : { headers: { traceparent } }),
      signal,
    });
  }

  const client: TurndClient = {
    ...createFilesClient(endpoint),
    submit: (body, how) => admit("/v1/turns", body, how),
    follow: (id, how) => followTurn(endpoint, id, how),
    followSession: (id, how) => followSession(endpoint, id, how),
    wait: (id, how = {}) =>
      waitForResult(endpoint, id, how, {
        turn: (signal) => client.turn(id, { signal }),
        result: (signal) => client.result(id, { signal }),
      }),
    cancel: (id, { signal } = {}) =>
      ask(CancelReceipt, { method: "POST", path: `${turnPath(id)}/cancel`, timeoutMs: LONG_ANSWER_MS, signal }),
    turn: (id, how) => get(TurnSnapshot, turnPath(id), how),
    approvals: (id, how) => get(TurnApprovals, `${turnPath(id)}/approvals`, how),
    decide: (id, approvalId, decision, { signal } = {}) =>
      ask(TurnApprovals, {
        method: "POST",
        path: `${turnPath(id)}/approvals/${idSegment(approvalId, "approval")}`,
        body: typeof decision === "string" ? { decision } : decision,
        signal,
      }),
    answer: (id, questionId, answers, { signal } = {}) =>
      ask(TurnApprovals, {
        method: "POST",
        path: `${turnPath(id)}/questions/${idSegment(questionId, "question")}`,
        body: { answers },
        signal,
      }),
    turns: async (page) => (await client.turnPage(page)).turns,
    turnPage({ sessionId, status, limit, cursor, signal } = {}) {
      const query = toQuery({ session_id: sessionId, status, limit, cursor });
      return get(TurnList, `/v1/turns${query}`, { signal });
    },
    eachTurn: (how) =>
      eachItem(async (cursor) => {
        const { turns: items, next_cursor: next } = await client.turnPage({ ...how, cursor });
        return { items, next };
      }),
    async turnOfRequest(id, how) {
      try {
        return await get(TurnSnapshot, `/v1/requests/${idSegment(id, "request id")}`, how);
      } catch (error) {
        if (error instanceof ProblemError && error.code === "request_not_found") return undefined;
        throw error;
      }
    },
    result: (id, how) => get(TurnResult, `${turnPath(id)}/result${how?.explain === true ? "?explain=true" : ""}`, how),
    async createSession(body, { signal } = {}) {
      const call = { method: "POST", path: "/v1/sessions", body, signal } as const;
      return read(Session, await once(call), call);
    },
    session: (id, how) => get(Session, sessionPath(id), how),
    sessions: async (page) => (await client.sessionPage(page)).sessions,
    sessionPage: ({ limit, cursor, signal } = {}) =>
      get(SessionList, `/v1/sessions${toQuery({ limit, cursor })}`, { signal }),
    eachSession: (how) =>
      eachItem(async (cursor) => {
        const { sessions: items, next_cursor: next } = await client.sessionPage({ ...how, cursor });
        return { items, next };
      }),
    async deleteSession(id, { signal } = {}) {
      await once({ method: "DELETE", path: sessionPath(id), timeoutMs: LONG_ANSWER_MS, signal });
    },
    input: (id, how) => get(TurnInputText, `${turnPath(id)}/input`, how),
    records: (id, { signal, ...range } = {}) => get(RawRecords, `${turnPath(id)}/records${toQuery(range)}`, { signal }),
    recording: (id, { signal } = {}) =>
      ask(RecordingDocument, { method: "GET", path: `${turnPath(id)}/recording`, timeoutMs: LONG_ANSWER_MS, signal }),
    replay: (body, how) => admit("/v1/replays", body, how),
    executors: async (how) => (await get(ExecutorList, "/v1/executors", how)).executors,
    executor: (id, how) => get(ExecutorInfo, `/v1/executors/${idSegment(id, "executor")}`, how),
    async ready({ signal } = {}) {
      const call = { method: "GET", path: "/v1/ready", signal } as const;
      return repeatedly(options, signal, async () => {
        const answer = await exchange(endpoint, { timeoutMs: ANSWER_MS, ...call });
        // A 503 is turnd's own answer, or a proxy's.
        if (answer.status === 200 || Readiness.safeParse(answer.body).success) return read(Readiness, answer, call);
        throw refusal(answer, call);
      });
    },
    health: (how) => get(Health, "/v1/health", how),
    sandbox: async (how) => (await get(SandboxEnvelope, "/v1/sandbox", how)).data,
  };
  return client;
}

function toQuery(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? "" : `?${given.join("&")}`;
}
