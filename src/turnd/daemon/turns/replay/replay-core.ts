import { defined } from "../../../../kit/defined.ts";
import type { Exit, TimelineEntry } from "../../../protocol/index.ts";
import type { NewEvent } from "../../event-log/sequence.ts";
import type { DriftWatch } from "../../executors/contract/records.ts";
import type { Executor } from "../../executors/contract/executor.ts";
import { followOutput, type OutputBatch, type TakenLine } from "../../process/output/follow.ts";
import { hasRun, type Recording } from "../../replay/recording.ts";
import { ownFailure } from "../outcome/own-failure.ts";
import { withoutExit } from "../outcome/without-exit.ts";
import type { TurnFacts } from "../outcome/conclude.ts";
import { consumeOutput, type ConsumeResult, type ConsumeOptions } from "../run/consume.ts";
import { degradedEvent, startedEvent } from "../run/daemon-events.ts";
import type { EndedBy } from "../lifecycle/turn-file.ts";

export interface ReplayCoreOptions {
  readonly executor: Executor;
  /** Shown every record. */
  readonly drift?: DriftWatch;
  readonly maxLineBytes: number;
  /** What was taken when, in order; undefined where that is not known: then stdout comes before stderr. */
  readonly timeline: AsyncIterable<TimelineEntry> | undefined;
  /** Aborted when nothing will be appended to the files any more. */
  readonly finished: AbortSignal;
  /** Once aborted, no more of the output is passed on. */
  readonly cut?: AbortSignal;
  /** Called with every batch that is passed on. */
  readonly onBatch?: (batch: OutputBatch) => void;
  /** Takes the events of turnd itself. */
  readonly emitDaemonEvents: (events: readonly NewEvent[]) => Promise<void> | undefined;
  /** Takes what lines were translated to. */
  readonly translated: ConsumeOptions["emit"];
  /** Asked once the output has ended. */
  readonly outcome: () => Promise<{ readonly endedBy: EndedBy; readonly exit: Exit | null }>;
}

/** What the output is tried with where no exit is known: only that shows whether records prove completion. */
const PRESUMED_EXIT: Exit = { code: 0, signal: null };

/** What a recording came to. */
export interface ReplayCoreResult {
  readonly facts: TurnFacts;
  /** Absent when no process ever ran. */
  readonly consumed?: ConsumeResult;
}

/**
 * Translates a recorded turn once more: the same files and lines, and so the same events and end, without a process.
 * Law: the recording is the transport.
 *
 * Whether the files are complete or being written by a player makes no difference.
 */
export async function runReplayCore(recording: Recording, options: ReplayCoreOptions): Promise<ReplayCoreResult> {
  const { turn, isExitUnrecorded = false } = recording;
  const { cut } = options;
  const halted =
    turn.halted === undefined ? undefined : ownFailure(turn.halted.code, turn.halted.message, turn.halted.remedy);
  if (!hasRun(turn)) {
    const { endedBy } = await options.outcome();
    const isDegraded = turn.degraded !== undefined;
    return { facts: { endedBy, ...defined({ halt: halted, taken: turn.taken }), exit: null, isDegraded } };
  }

  await options.emitDaemonEvents([describeStart(recording, options.executor)]);
  const places = placeOwnEvents(recording, options);
  let isHalted = false;
  const consumed = await consumeOutput({
    translator: options.executor.createTranslator({
      requestedSession: turn.requested_session,
      ...defined({
        cliVersion: turn.cli_version,
        usageBefore: turn.usage_before,
        transport: turn.transport,
        drift: options.drift,
      }),
    }),
    output: () =>
      passUntil(
        followOutput({
          stdoutPath: recording.stdoutPath,
          stderrPath: recording.stderrPath,
          maxLineBytes: options.maxLineBytes,
          taken: places.lines(),
          finished: options.finished,
        }),
        cut,
      ),
    isHeldUntilBound: turn.requested_session !== null,
    emit: options.translated,
    report(report) {
      if (report.type === "output_read") options.onBatch?.(report.batch);
      // As when it was recorded: turnd ended that process at this line.
      if (report.type === "halted") isHalted = true;
    },
    async outcome() {
      const { endedBy, exit } = await options.outcome();
      return { exit: isExitUnrecorded ? PRESUMED_EXIT : exit, wasStopped: endedBy !== null || isHalted };
    },
  });
  // A server goes on after its turn.
  const isEndedByRecord = turn.transport === "interactive" && recording.exit === null && consumed.isComplete;
  const isLost = !consumed.hasEmitted && turn.requested_session !== null;
  await options.emitDaemonEvents(places.rest(isLost ? consumed.degradedReason : undefined));
  const { endedBy, exit } = await options.outcome();
  return {
    facts: {
      endedBy,
      ending: isExitUnrecorded ? withoutExit(consumed.ending) : consumed.ending,
      ...(isExitUnrecorded || isEndedByRecord ? { isExitUnrecorded: true } : {}),
      // What turnd once decided belongs to the end of the recording, which a replay that was cut has not come to.
      ...defined({ halt: cut?.aborted === true ? consumed.halt : (halted ?? consumed.halt) }),
      exit,
      isDegraded: turn.degraded !== undefined || isLost,
      ...defined({ lastSeen: consumed.lastSeen, providerFault: turn.provider_fault }),
    },
    consumed,
  };
}

function describeStart({ turn }: Recording, executor: Executor): NewEvent {
  return startedEvent({
    cliName: turn.cli_name ?? executor.defaultName,
    cliVersion: turn.cli_version,
    mode: turn.mode,
    transport: turn.transport,
    model: turn.model,
    requested: turn.degraded?.requested ?? turn.requested_session,
    trace: turn,
  });
}

interface OwnPlaces {
  /** The lines in the order in which they were taken; on the way, the events of turnd itself between them. */
  lines(): AsyncGenerator<TakenLine>;
  /** The events of turnd itself after the last line that gave an event. */
  rest(lostReason: string | undefined): readonly NewEvent[];
}

/** Puts the warnings of turnd's own, and its event about a lossy resume, where they stood among the lines. */
function placeOwnEvents({ turn }: Recording, { timeline, emitDaemonEvents }: ReplayCoreOptions): OwnPlaces {
  const { degraded } = turn;
  const waiting: NewEvent[] = [];
  let isDegradedEmitted = false;
  let hasLines = false;

  function emitDegraded(): void {
    if (degraded === undefined || isDegradedEmitted) return;
    isDegradedEmitted = true;
    waiting.push(degradedEvent(degraded.requested, degraded.reason));
  }
  // Without a timeline: the plain files belong to a fresh session then, and it was emitted before its first line.
  if (timeline === undefined && turn.requested_session === null) emitDegraded();

  return {
    async *lines() {
      await emitDaemonEvents(waiting.splice(0));
      for await (const entry of timeline ?? []) {
        if (entry.type === "warning") {
          waiting.push({ type: "warning", data: { code: entry.code, message: entry.message } });
        } else if (entry.type === "degraded") {
          emitDegraded();
        } else if (entry.type === "line") {
          hasLines = true;
          await emitDaemonEvents(waiting.splice(0));
          yield { source: entry.source ?? "stdout", line: entry.line };
        }
      }
      // What stands after the last line was emitted when the output had ended; without lines it stands before all of it.
      if (!hasLines) await emitDaemonEvents(waiting.splice(0));
    },
    rest(lostReason) {
      emitDegraded();
      if (!isDegradedEmitted && lostReason !== undefined) {
        waiting.push(degradedEvent(turn.requested_session ?? "", lostReason));
      }
      return waiting.splice(0);
    },
  };
}

async function* passUntil(
  output: AsyncIterable<OutputBatch>,
  cut: AbortSignal | undefined,
): AsyncGenerator<OutputBatch> {
  for await (const batch of output) {
    if (cut?.aborted === true) return;
    yield batch;
  }
}
