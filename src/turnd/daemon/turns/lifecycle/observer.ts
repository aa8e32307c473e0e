import { REPLAY, type ExecutorName, type FailureCode, type TurnEndedData } from "../../../protocol/index.ts";

/** Called for what happens to turns, for metrics. Each call is cheap, synchronous and does not throw. */
export interface TurnObserver {
  /** Events are in a turn's log. */
  eventsWritten(executor: ExecutorName, count: number): void;
  /** Events of a turn resumed after a restart that an earlier daemon had logged already. */
  eventsSkipped(count: number): void;
  /** The first event of a process came this long after it was started. */
  firstEvent(executor: ExecutorName, afterMs: number): void;
  /**
   * Processes that a CLI had left behind, or that were left when it was stopped, were ended. Law: nothing outlives its
   * turn.
   */
  processesSwept(count: number): void;
  turnEnded(end: TurnEnd): void;
  /** A session was deleted because it is kept no longer. */
  sessionRetired(): void;
}

/** What metrics count of a turn: nothing that names it. */
export interface TurnEnd {
  readonly executor: ExecutorName;
  readonly status: TurnEndedData["status"];
  readonly code: FailureCode | undefined;
  readonly durationMs: number;
  /** Absent when the CLI never ran. */
  readonly cliVersion: string | undefined;
  readonly unknownRecords: number;
  /** Absent where they are unknown. */
  readonly usage: TurnEndedData["usage"];
}

/** What a turn is counted under: a replayed recording is no turn of its CLI. */
export function countedExecutor(turn: {
  readonly executor: ExecutorName;
  readonly replay?: object | undefined;
}): ExecutorName {
  return turn.replay === undefined ? turn.executor : REPLAY;
}

/** How much there is to do at this moment. */
export interface TurnLoad {
  /** Turns that wait. */
  readonly queued: number;
  readonly running: number;
}
