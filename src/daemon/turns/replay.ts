import { access } from "node:fs/promises";
import type { Decision, TurnEndedData } from "../../protocol/index.ts";
import { createSequence, type NewEvent } from "../event-log/sequence.ts";
import type { Executor } from "../executors/executor.ts";
import { followOutput } from "../process/follow.ts";
import { idsOf, type Recording } from "../replay/recording.ts";
import { concludeTurn, type TurnFacts } from "./classify.ts";
import { consumeOutput } from "./consume.ts";
import { explainTurn } from "./decision.ts";
import { degradedEvent, startedEvent } from "./own-events.ts";
import { takenLines } from "./progress.ts";
import { EndedBy } from "./turn-file.ts";

export interface ReplayOptions {
  readonly executor: Executor;
  readonly maxLineBytes: number;
  readonly now: () => Date;
  readonly redact: (line: string) => string;
  /**
   * Takes rendered lines, newlines included; resolves when more may come. Their memory is used again then: what is to
   * be kept is copied.
   */
  readonly write: (lines: Buffer) => Promise<void>;
  /** Take the lines in the order of the recording's events, where it has them. */
  readonly keepsOrder: boolean;
  /** Told how the end was decided. */
  readonly explain?: (decision: Decision) => void;
}

/**
 * Plays a recording: the same files, lines, events and end as a live turn, without a process (law 1).
 *
 * @returns how the turn ended; the last line written is its `turn.ended`
 */
export async function replayRecording(recording: Recording, options: ReplayOptions): Promise<TurnEndedData> {
  const { turn, exit } = recording;
  const endedBy = EndedBy.parse(turn.ended_by);
  const startedAt = options.now();
  const sequence = createSequence({
    ...idsOf(recording),
    executor: turn.executor,
    now: () => options.now().toISOString(),
    redact: options.redact,
  });
  async function emit(events: readonly NewEvent[]): Promise<void> {
    if (events.length === 0) return;
    const lines = sequence.render(events);
    sequence.take(lines, events.length);
    await options.write(lines);
  }

  const requested = turn.degraded?.requested ?? turn.requested_session;
  await emit([
    startedEvent({
      cliName: turn.cli_name ?? options.executor.defaultName,
      cliVersion: turn.cli_version,
      mode: turn.mode,
      model: turn.model,
      requested,
      traceId: turn.trace_id,
    }),
    ...(turn.degraded === undefined ? [] : [degradedEvent(turn.degraded.requested, turn.degraded.reason)]),
  ]);
  const hasOrder = options.keepsOrder && (await exists(recording.eventsPath));
  const consumed = await consumeOutput({
    translator: options.executor.createTranslator({
      requestedSession: turn.requested_session,
      ...(turn.cli_version === undefined ? {} : { cliVersion: turn.cli_version }),
      ...(turn.usage_before === undefined ? {} : { usageBefore: turn.usage_before }),
    }),
    output: followOutput({
      stdoutPath: recording.stdoutPath,
      stderrPath: recording.stderrPath,
      maxLineBytes: options.maxLineBytes,
      ...(hasOrder ? { taken: takenLines(recording.eventsPath) } : {}),
      finished: AbortSignal.abort(),
    }),
    isHeldUntilBound: turn.requested_session !== null,
    emit,
    outcome: () => Promise.resolve({ exit, wasStopped: endedBy !== null }),
  });
  if (!consumed.hasEmitted && turn.requested_session !== null) {
    await emit([degradedEvent(turn.requested_session, consumed.degradedReason)]);
  }
  const facts: TurnFacts = {
    endedBy,
    ending: consumed.ending,
    ...(consumed.halt === undefined ? {} : { halt: consumed.halt }),
    exit,
    isDegraded: turn.degraded !== undefined || !consumed.hasEmitted,
  };
  options.explain?.(explainTurn(facts));
  const data: TurnEndedData = {
    ...concludeTurn(facts),
    counts: { events: sequence.lastSeq() + 1, ...consumed.counts },
    duration_ms: options.now().getTime() - startedAt.getTime(),
    digest: sequence.digest(),
  };
  await emit([{ type: "turn.ended", data }]);
  return data;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
