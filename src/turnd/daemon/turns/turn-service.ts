import type {
  CancelReceipt,
  CliName,
  RawRecords,
  ReplayRequest,
  SandboxInfo,
  Session,
  SessionRequest,
  TurnAdmission,
  TurnInputText,
  TurnRequest,
  TurnResult,
  TurnSnapshot,
} from "../../protocol/index.ts";
import type { TurnDiff } from "./store/read-diff.ts";
import type { LoggedLine } from "../event-log/logged-lines.ts";
import type { TakeLines } from "../event-log/read-events.ts";
import type { ExecutorLooks } from "./executors/look-at-executors.ts";
import type { TurnQuestions } from "./run/ask-turns.ts";
import type { TurnLoad } from "./lifecycle/observer.ts";
import type { SessionCursor, SessionEventsOptions, SessionLine } from "./store/session-events.ts";

export type { LoggedLine, SessionCursor, TakeLines, TurnDiff };

/** What the HTTP room may ask of the daemon. Refusals are thrown as `ProblemError`. */
export interface TurnService extends Omit<ExecutorLooks, "stop">, TurnQuestions {
  /**
   * While a large state is compared with its index after the start: resolves when it is known whether there is what a request
   * names.
   */
  untilKnown(named: RequestedIds): Promise<void>;
  /** Admits a turn, durably, before it resolves. Law: at most once. `isRepeat` when the request id was known. */
  admit(
    request: TurnRequest,
    options: { readonly traceparent?: string },
  ): Promise<{ readonly admission: TurnAdmission; readonly isRepeat: boolean }>;
  /** Admits a turn that plays a recording; otherwise as `admit`. */
  admitReplay(
    request: ReplayRequest,
    options: { readonly traceparent?: string },
  ): Promise<{ readonly admission: TurnAdmission; readonly isRepeat: boolean }>;
  /** Which CLI printed these first lines of its output. @throws {ProblemError} invalid_request where that is unknown */
  identifyOutput(lines: readonly string[]): CliName;
  /** What a turn was asked, secrets taken out. @throws {ProblemError} turn_not_found */
  readInput(turnId: string): Promise<TurnInputText>;
  /** Some lines of what its CLI has printed so far, secrets taken out. @throws {ProblemError} turn_not_found */
  readRecords(turnId: string, range: RecordRange): Promise<RawRecords>;
  /** An ended turn's recording as one JSON document, secrets taken out. @throws {ProblemError} turn_not_ended */
  exportRecording(turnId: string): AsyncIterable<string>;
  /** What an ended turn changed. @throws {ProblemError} turn_not_ended, diff_not_found */
  openDiff(turnId: string): Promise<TurnDiff>;
  /** Newest first. @throws {ProblemError} bad_cursor */
  listTurns(page: TurnsPage): { readonly turns: TurnSnapshot[]; readonly next_cursor?: string };
  /** Where a session's events end at this moment. */
  endOfEvents(sessionId: string): SessionEventsEnd;
  /** @throws {ProblemError} turn_not_found */
  getTurn(turnId: string): TurnSnapshot;
  /**
   * The result, with the rule that decided it; `isExplained` adds every rule that was tried.
   *
   * @throws {ProblemError} turn_not_ended with a snapshot; resources_exhausted, storage_full where its log cannot be read
   */
  getResult(turnId: string, options?: { readonly isExplained?: boolean }): Promise<TurnResult>;
  /** Resolves true when the turn has ended, false when the signal aborts first. */
  waitForEnd(turnId: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Resolves when the turn's tree is gone, or it is written that the next start ends a turn that turnd has left to it. Safe
   * to repeat.
   *
   * @throws {ProblemError} turn_not_found, storage_full where that could not be written
   */
  cancel(turnId: string): Promise<CancelReceipt>;
  findRequest(requestId: string): TurnSnapshot;
  readEvents(turnId: string, options: ReadEventsOptions): AsyncIterable<readonly LoggedLine[]>;

  /**
   * What reads over all turns of a session, from the cursor or from its first event.
   *
   * @throws {ProblemError} session_not_found, bad_cursor, cursor_beyond_end
   */
  findSessionEvents(
    sessionId: string,
    cursor: SessionCursor | undefined,
  ): (options: SessionEventsOptions) => AsyncIterable<readonly SessionLine[]>;

  createSession(request: SessionRequest): Promise<Session>;
  /** Newest first. @throws {ProblemError} bad_cursor */
  listSessions(page: Page): { readonly sessions: Session[]; readonly next_cursor?: string };
  getSession(sessionId: string): Session;
  /** Cancels, sweeps and removes. */
  deleteSession(sessionId: string): Promise<void>;

  sandbox(): SandboxInfo;
  load(): TurnLoad;
}

/** What a request names, by the names of a path's parts. */
export interface RequestedIds {
  readonly turn_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly request_id?: string | undefined;
}

/** Where the events of a session ended at some moment: every one of an earlier turn is there. */
export interface SessionEventsEnd {
  /** How many events each turn had that had not ended, by its id. */
  readonly lastSeqs: ReadonlyMap<string, number>;
  /** The turn that was admitted last; absent where there was none. */
  readonly newestTurnId?: string;
}

/** A page of a list. */
export interface Page {
  readonly limit: number;
  /** What an earlier page gave as `next_cursor`; from the beginning without it. */
  readonly cursor?: string;
}

/** Some of the turns of one session or of all. */
export interface TurnsPage extends Page {
  readonly sessionId?: string;
  readonly status?: string;
}

/** Which lines of which file: at most `limit` from the line `from` on, 1-based. */
export interface RecordRange {
  readonly source: "stdout" | "stderr";
  readonly from: number;
  readonly limit: number;
}

export interface ReadEventsOptions {
  /** Events with a greater seq are read. The caller has checked it against `last_seq`. */
  readonly afterSeq: number;
  /** Go on until `turn.ended`; otherwise end after what is there. */
  readonly isFollowing: boolean;
  readonly signal: AbortSignal;
  /** Takes the lines that are written while this reader waits, in that moment; otherwise the iteration has them. */
  readonly atOnce?: TakeLines | undefined;
}
