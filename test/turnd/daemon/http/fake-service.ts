import {
  ProblemError,
  type CancelReceipt,
  type ExecutorInfo,
  type SandboxInfo,
  type Session,
  type TurnAdmission,
  type TurnRequest,
  type TurnResult,
  type TurnSnapshot,
} from "../../../../src/turnd/protocol/index.ts";
import type { LoggedLine, ReadEventsOptions, TurnService } from "../../../../src/turnd/daemon/turns/turn-service.ts";

export const AT = "2026-11-21T08:00:00.000Z";

/** A turn of the fake: its lines grow with `append`, and `end` adds the last one. */
export interface FakeTurn {
  readonly id: string;
  append(...lines: Record<string, unknown>[]): void;
  end(): void;
  /** How often its events are being read now, and how many batches were asked for in all. */
  readers(): number;
  pulls(): number;
}

/**
 * An in-memory TurnService for the tests of the HTTP room.
 *
 * It holds still what a real turn does not: a turn grows and ends line by line as a test says, readings are counted and
 * fail on demand. What needs none of that is tested on the real service, in `test/turns`.
 */
export interface FakeService extends TurnService {
  addTurn(id?: string): FakeTurn;
  /** What `admit` was called with. */
  readonly admitted: { request: TurnRequest; traceparent: string | undefined }[];
  /** Makes readings of events fail after what is there; undefined lets them go on. */
  failReads(error: Error | undefined): void;
  isReady: boolean;
}

interface State {
  readonly lines: LoggedLine[];
  hasEnded: boolean;
  waiting: Set<() => void>;
  readers: number;
  pulls: number;
}

/** One line as the log has it. */
export function logLine(turnId: string, seq: number, event: Record<string, unknown>): LoggedLine {
  const line = { v: 1, seq, at: AT, turn_id: turnId, session_id: "session-1", executor: "cli-b", ...event };
  return { seq, type: String(event["type"]), bytes: Buffer.from(JSON.stringify(line)) };
}

export function createFakeService(): FakeService {
  const turns = new Map<string, State>();
  const requests = new Map<string, string>();
  const sessions = new Map<string, Session>();
  const admitted: FakeService["admitted"] = [];
  let readError: Error | undefined;

  function stateOf(turnId: string): State {
    const state = turns.get(turnId);
    if (state === undefined) throw new ProblemError("turn_not_found", `there is no turn ${turnId}`);
    return state;
  }

  function wake(state: State): void {
    const woken = state.waiting;
    state.waiting = new Set();
    for (const resolve of woken) resolve();
  }

  function changed(state: State, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      state.waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  function addTurn(id = `turn-${turns.size + 1}`): FakeTurn {
    const state: State = { lines: [], hasEnded: false, waiting: new Set(), readers: 0, pulls: 0 };
    turns.set(id, state);
    const append = (...events: Record<string, unknown>[]): void => {
      for (const event of events) state.lines.push(logLine(id, state.lines.length + 1, event));
      wake(state);
    };
    return {
      id,
      append,
      end() {
        state.hasEnded = true;
        append({ type: "turn.ended", data: result(id, state) });
      },
      readers: () => state.readers,
      pulls: () => state.pulls,
    };
  }

  function admissionOf(turnId: string): TurnAdmission {
    return {
      turn_id: turnId,
      request_id: `request-of-${turnId}`,
      session_id: "session-1",
      status: stateOf(turnId).hasEnded ? "completed" : "running",
      queue_position: 0,
      events_url: `/v1/turns/${turnId}/events`,
      result_url: `/v1/turns/${turnId}/result`,
    };
  }

  function getTurn(turnId: string): TurnSnapshot {
    return {
      ...admissionOf(turnId),
      executor: "cli-b",
      mode: "execute",
      workspace: "/workspace",
      created_at: AT,
      last_seq: stateOf(turnId).lines.length,
    };
  }

  function getSession(sessionId: string): Session {
    const session = sessions.get(sessionId);
    if (session === undefined) throw new ProblemError("session_not_found", `there is no session ${sessionId}`);
    return session;
  }

  async function* readEvents(turnId: string, options: ReadEventsOptions): AsyncGenerator<readonly LoggedLine[]> {
    const state = stateOf(turnId);
    let next = options.afterSeq;
    state.readers += 1;
    try {
      while (!options.signal.aborted) {
        const hasEnded = state.hasEnded;
        // Like the log: about 64 KiB at a time.
        const batch: LoggedLine[] = [];
        for (let bytes = 0; next < state.lines.length && bytes < 65_536; next += 1) {
          const line = state.lines[next];
          if (line !== undefined) batch.push(line);
          bytes += line?.bytes.length ?? 0;
        }
        if (batch.length > 0) {
          state.pulls += 1;
          yield batch;
        } else if (readError !== undefined) {
          throw readError;
        } else if (hasEnded || !options.isFollowing) {
          return;
        } else {
          await changed(state, options.signal);
        }
      }
    } finally {
      state.readers -= 1;
    }
  }

  return {
    admitted,
    isReady: true,
    addTurn,
    identifyOutput: () => "cli-b",
    failReads(error) {
      readError = error;
    },
    async untilKnown() {},
    async admit(request, { traceparent }) {
      admitted.push({ request, traceparent });
      const known = request.request_id === undefined ? undefined : requests.get(request.request_id);
      if (known !== undefined) return { admission: admissionOf(known), isRepeat: true };
      if (request.queue_policy === "reject") throw new ProblemError("session_busy", "a turn runs", {});
      if (request.queue_policy === "steer") throw new ProblemError("queue_full", "100 turns wait");
      const turn = addTurn();
      if (request.request_id !== undefined) requests.set(request.request_id, turn.id);
      return { admission: admissionOf(turn.id), isRepeat: false };
    },
    // Proved against the real service in test/turnd/daemon/turns/replay/replays.test.ts.
    admitReplay(): never {
      throw new ProblemError("queue_full", "the fake plays no recordings");
    },
    async readInput(turnId) {
      stateOf(turnId);
      return { turn_id: turnId, text: "fake", images: 0 };
    },
    // Proved against the real service in test/turnd/daemon/turns/store/raw-records.test.ts.
    async readRecords(turnId, { source }) {
      stateOf(turnId);
      return { turn_id: turnId, source, records: [], has_more: false };
    },
    async openDiff(turnId) {
      if (!stateOf(turnId).hasEnded)
        throw new ProblemError("turn_not_ended", "the turn runs", { turn: getTurn(turnId) });
      throw new ProblemError("diff_not_found", "the fake has no diffs");
    },
    exportRecording(turnId) {
      if (!stateOf(turnId).hasEnded)
        throw new ProblemError("turn_not_ended", "the turn runs", { turn: getTurn(turnId) });
      throw new ProblemError("turn_not_found", "the fake has no recordings");
    },
    // Pages are proved against the real service in test/turnd/daemon/turns/store/pages.test.ts.
    listTurns: ({ limit, status }) => ({
      turns: [...turns.keys()]
        .map(getTurn)
        .filter((turn) => status === undefined || turn.status === status)
        .slice(0, limit),
    }),
    endOfEvents: () => ({ lastSeqs: new Map() }),
    getTurn,
    async getResult(turnId, { isExplained = false } = {}) {
      const state = stateOf(turnId);
      if (!state.hasEnded) throw new ProblemError("turn_not_ended", "the turn runs", { turn: getTurn(turnId) });
      const ended = turnResult(turnId, state);
      const { rule, verdict, on } = ended.decision;
      const tried = [{ rule, verdict, on, outcome: "won" as const }];
      return isExplained ? { ...ended, decision: { ...ended.decision, tried } } : ended;
    },
    async waitForEnd(turnId, signal) {
      const state = stateOf(turnId);
      while (!state.hasEnded && !signal.aborted) await changed(state, signal);
      return state.hasEnded;
    },
    approvals: (turnId) => ({ turn_id: turnId, approvals: [], questions: [] }),
    decide: (turnId) => ({ turn_id: turnId, approvals: [], questions: [] }),
    answerQuestion: (turnId) => ({ turn_id: turnId, approvals: [], questions: [] }),
    async cancel(turnId): Promise<CancelReceipt> {
      stateOf(turnId);
      return { turn_id: turnId, status: "cancelled", already_ended: false, ended: [], duration_ms: 3 };
    },
    findRequest(requestId) {
      const turnId = requests.get(requestId);
      if (turnId === undefined) throw new ProblemError("request_not_found", `there is no request ${requestId}`);
      return getTurn(turnId);
    },
    readEvents,
    // Proved against the real service in test/turnd/daemon/turns/store/session-events.test.ts.
    findSessionEvents(): never {
      throw new ProblemError("session_not_found", "the fake has no sessions with events");
    },
    async createSession(request) {
      const id = request.session_id ?? `session-${sessions.size + 1}`;
      if (sessions.has(id)) throw new ProblemError("session_exists", `session ${id} exists`);
      const { executor, permissions } = request;
      const session = {
        session_id: id,
        executor,
        permissions,
        workspace: request.workspace ?? "/workspace",
        created_at: AT,
        turns: [],
      };
      sessions.set(id, session);
      return session;
    },
    listSessions: () => ({ sessions: [...sessions.values()] }),
    getSession,
    async deleteSession(sessionId) {
      getSession(sessionId);
      sessions.delete(sessionId);
    },
    listExecutors: async () => [EXECUTOR],
    async getExecutor(id) {
      if (id !== EXECUTOR.id) throw new ProblemError("executor_not_found", `there is no executor ${id}`);
      return EXECUTOR;
    },
    sandbox: () => SANDBOX,
    load: () => ({ queued: 0, running: 0 }),
    async readiness() {
      return { ready: this.isReady, checks: [{ name: "state", ok: this.isReady }] };
    },
  };
}

const EXECUTOR: ExecutorInfo = {
  id: "cli-b",
  name: "cli-b",
  available: true,
  contract_version: "0.139.0",
  capabilities: {
    modes: ["execute", "plan"],
    images: true,
    output_schema: true,
    agents: false,
    effort: true,
    resume: true,
    permissions: true,
    mcp_servers: true,
    instructions: true,
    approvals: true,
  },
  transport: { by_default: "headless", interactive: false, reason: "a fake drives no server" },
  configuration: [],
  warnings: [],
  drift: [],
};

const SANDBOX: SandboxInfo = {
  version: "0.1.0",
  home_dir: "/home/sandbox",
  workspace: "/workspace",
  run_as: { uid: 1000, gid: 1000 },
  subreaper: true,
  turn_limits: { enforced: false, reason: "there are none" },
  warnings: [],
};

function result(turnId: string, state: State): Omit<TurnResult, "turn_id" | "request_id" | "session_id"> {
  return {
    status: "completed",
    output: `done ${turnId}`,
    resumed: false,
    degraded: false,
    counts: { events: state.lines.length + 1, records: 1, unknown: 0, tools: 0, retries: 0 },
    duration_ms: 5,
    digest: "0".repeat(64),
    executor: "cli-b",
    ended_at: AT,
    decision: { rule: "completed", verdict: "completed", on: "record", evidence: [] },
  };
}

function turnResult(turnId: string, state: State): TurnResult {
  return { ...result(turnId, state), turn_id: turnId, request_id: `request-of-${turnId}`, session_id: "session-1" };
}
