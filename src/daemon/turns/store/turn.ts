import type {
  CancelReceipt,
  ExecutorName,
  Decision,
  TurnAdmission,
  TurnEndedData,
  TurnSnapshot,
  TurnStatus,
} from "../../../protocol/index.ts";
import type { EventLog } from "../../event-log/event-log.ts";
import type { WritableTail } from "../../event-log/tail.ts";
import type { StopReason } from "../run/attempt.ts";
import type { EndedBy, TurnFile } from "./turn-file.ts";

/** A turn in memory: what is on disk, and what only a running daemon knows. */
export interface Turn {
  file: TurnFile;
  readonly directory: string;
  status: TurnStatus;
  /** Where its log ends; every live reader waits on it, from the admission on. */
  readonly tail: WritableTail;
  /** Set while its log is written. */
  log: EventLog | undefined;
  endedAt: string | undefined;
  /** What to do to end it; undefined while nothing runs. */
  stop: ((reason: StopReason) => void) | undefined;
  /** Asked to end before there was anything to stop. */
  stopRequested: NonNullable<EndedBy> | undefined;
  /** Aborts with it: what is waited for before a process exists is given up. */
  readonly stopping: AbortController;
  /** The end, where the disk would not take it. */
  unwrittenEnd: TurnEndedData | undefined;
  /** How the end was decided, until it is written. */
  decision: Decision | undefined;
  /** Processes that were ended for a stop; told in the receipt. */
  ended: CancelReceipt["ended"];
  /** Resolves when `turn.ended` is logged and the tree is gone. */
  readonly finished: Promise<void>;
  readonly markFinished: () => void;
  /** Resolves when the processes of a turn that was stopped are gone; its last lines may still become events. */
  readonly stopped: Promise<void>;
  readonly markStopped: () => void;
}

/** How long who stops a turn waits for the events of what was printed before: a turn may print for an hour what a CLI never would. */
export const LAST_LINES_MS = 2_000;

/** Makes the memory of an admitted turn. */
export function createTurn(file: TurnFile, directory: string, tail: WritableTail): Turn {
  const finish = Promise.withResolvers<void>();
  const stop = Promise.withResolvers<void>();
  return {
    file,
    directory,
    status: "queued",
    tail,
    log: undefined,
    endedAt: undefined,
    stop: undefined,
    stopRequested: undefined,
    stopping: new AbortController(),
    unwrittenEnd: undefined,
    decision: undefined,
    ended: [],
    finished: finish.promise,
    markFinished: finish.resolve,
    stopped: stop.promise,
    markStopped: stop.resolve,
  };
}

/** Asks a turn to end, as soon as it can; the first reason holds. Its end is `finished`. */
export function requestStop(turn: Turn, reason: NonNullable<EndedBy>): void {
  turn.stopRequested ??= reason;
  turn.stopping.abort();
  turn.stop?.(reason);
}

/** Whether nothing more will happen to a turn. */
export function hasEnded(turn: Turn): boolean {
  return turn.status === "completed" || turn.status === "failed" || turn.status === "cancelled";
}

/** The answer to an admission. */
export function toAdmission(turn: Turn, queuePosition: number): TurnAdmission {
  const { turn_id, request_id, session_id } = turn.file;
  return {
    turn_id,
    request_id,
    session_id,
    status: turn.status,
    queue_position: queuePosition,
    events_url: `/v1/turns/${encodeURIComponent(turn_id)}/events`,
    result_url: `/v1/turns/${encodeURIComponent(turn_id)}/result`,
  };
}

/** A turn as it stands. */
export function toSnapshot(turn: Turn, queuePosition: number): TurnSnapshot {
  const { file } = turn;
  return {
    ...toAdmission(turn, queuePosition),
    executor: executorNameOf(file),
    mode: file.mode,
    workspace: file.workspace,
    ...(file.model === undefined ? {} : { model: file.model }),
    ...(file.metadata === undefined ? {} : { metadata: file.metadata }),
    created_at: file.created_at,
    ...(file.started_at === undefined ? {} : { started_at: file.started_at }),
    ...(turn.endedAt === undefined ? {} : { ended_at: turn.endedAt }),
    last_seq: turn.log?.lastSeq() ?? turn.tail.lastSeq(),
  };
}

/** What runs a turn. A replay's `turn.json` names the CLI that was recorded, whose name its events carry. */
export function executorNameOf({ executor, replay }: TurnFile): ExecutorName {
  return replay === undefined ? executor : "replay";
}
