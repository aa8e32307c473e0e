import { join } from "node:path";
import type { Logger } from "pino";
import type { Redact } from "../../event-log/redact.ts";
import type { GroupsState } from "../../process/cgroup/cgroup.ts";
import { createIsoTime } from "../../event-log/iso-time.ts";
import { openEventLog, type EventLog } from "../../event-log/event-log.ts";
import { removeGroup } from "./turn-group.ts";
import { noProgress, readProgress, type Progress } from "./progress.ts";
import { countedExecutor, type TurnObserver } from "../lifecycle/observer.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { neverRan, saveOwnPart, toFailureOfOurs, type RunOutcome } from "../outcome/run-outcome.ts";
import { releaseReserve, takeReserve } from "../store/reserve.ts";
import { createEmitter, type Emitter } from "./emitter.ts";

export interface RunParts {
  /** Milliseconds since the epoch, for the time of events. */
  readonly clock: () => number;
  readonly groups: GroupsState;
  readonly observer: Pick<TurnObserver, "eventsWritten" | "eventsSkipped">;
  readonly redact: Redact;
  readonly logger: Logger;
  /** Logs the turn's end. */
  readonly endTurn: (turn: Turn, log: EventLog, outcome: RunOutcome) => Promise<void>;
}

/** Runs a turn of either kind from its place in the queue to its end. */
export type RunToEnd = (turn: Turn, options: { readonly hasHome: boolean }) => Promise<void>;

/** A turn whose log can be written. */
export interface OpenTurn {
  readonly turn: Turn;
  readonly emitter: Emitter;
  readonly logPath: string;
  /** What an earlier daemon has logged. */
  readonly progress: Progress;
  /** Whether there is room for the turn's last event; it is taken meanwhile. */
  readonly hasRoom: Promise<boolean>;
}

/**
 * Brings a turn to its end: opens its log, has it run or resumed, and logs its `turn.ended`. Law: one end.
 *
 * Never throws for what the CLI, the provider or the disk does.
 * @param work - what the turn does besides; undefined where it is postponed to the next start
 */
export async function runTurn(
  parts: RunParts,
  turn: Turn,
  work: (open: OpenTurn) => Promise<RunOutcome | undefined>,
): Promise<void> {
  const { observer, logger, redact } = parts;
  const { turn_id: turnId, session_id: sessionId, executor } = turn.file;
  const logPath = join(turn.directory, "events.jsonl");
  const now = createIsoTime(parts.clock);
  const log = await openEventLog({ path: logPath, turnId, sessionId, executor, now, redact, tail: turn.tail });
  try {
    const progress = log.lastSeq() === 0 ? noProgress(redact) : await readProgress(logPath, redact);
    if (progress.ended !== undefined) {
      const { data, at } = progress.ended;
      await turn.send({ type: "end_found", end: { status: data.status, at } });
      return;
    }
    const hasRoom = takeReserve(turn.directory);
    // A turn that starts nothing asks for it at its end only.
    hasRoom.catch(() => undefined);
    const emitter = createEmitter({
      log,
      logPath,
      progress,
      redact,
      onWritten: (count) => observer.eventsWritten(countedExecutor(turn.file), count),
      onSkipped: (count) => observer.eventsSkipped(count),
      onDifference: (message) => logger.warn({ turnId }, message),
      onFault: () => void turn.send({ type: "log_failed" }),
    });
    const outcome = await work({ turn, emitter, logPath, progress, hasRoom }).catch(async (error: unknown) => {
      const failure = toFailureOfOurs(error);
      // Every other one is named in the line of the turn's end.
      if (failure.code === "unknown") logger.error({ turnId, err: error }, "turn could not be run");
      await turn.send({ type: "failed" });
      return neverRan(turn, failure);
    });
    await hasRoom;
    await releaseReserve(turn.directory);
    await removeGroup(parts, turn.file);
    if (outcome === undefined) return;
    await saveOwnPart(turn, outcome.facts);
    await parts.endTurn(turn, log, outcome);
  } finally {
    await log.close();
  }
}
