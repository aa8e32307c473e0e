import { defined } from "../../../../kit/defined.ts";
import type { Decision, TurnEndedData } from "../../../protocol/index.ts";
import { createSequence, type NewEvent } from "../../event-log/sequence.ts";
import type { DriftWatch } from "../../executors/contract/records.ts";
import type { Executor } from "../../executors/contract/executor.ts";
import { idsOf, type Recording } from "../../replay/recording.ts";
import { inRuns } from "../../replay/timeline.ts";
import { concludeTurn } from "../outcome/conclude.ts";
import type { Counts } from "../outcome/event-counts.ts";
import { explainTurn } from "../outcome/decision.ts";
import { runReplayCore } from "./replay-core.ts";
import type { Redact } from "../../event-log/redact.ts";

export interface ReplayOptions {
  readonly executor: Executor;
  readonly maxLineBytes: number;
  readonly now: () => Date;
  readonly redact: Redact;
  /** What each event names as its recording; absent: nothing. */
  readonly name?: string;
  /** Of its events; absent: as the recording has them, or made from its name. */
  readonly ids?: { readonly turnId: string; readonly sessionId: string };
  /**
   * Takes rendered lines, newlines included; resolves when more may come. Their memory is used again then: what is to
   * be kept is copied.
   */
  readonly write: (lines: Buffer) => Promise<void>;
  /** Take the lines in the order of the recording's events, where it has them. */
  readonly keepsOrder: boolean;
  /** Shown every record. */
  readonly drift?: DriftWatch;
  /** Called with how the end was decided. */
  readonly explain?: (decision: Decision) => void;
}

/**
 * Plays a recording: the same files, lines, events and end as a live turn, without a process. Law: the recording is the
 * transport.
 *
 * @returns how the turn ended; the last line written is its `turn.ended`
 */
export async function replayRecording(recording: Recording, options: ReplayOptions): Promise<TurnEndedData> {
  const { turn, exit, timeline } = recording;
  const startedAt = options.now();
  const sequence = createSequence({
    ...(options.ids ?? idsOf(recording)),
    ...defined({ recording: options.name }),
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

  const { facts, consumed } = await runReplayCore(recording, {
    executor: options.executor,
    ...defined({ drift: options.drift }),
    maxLineBytes: options.maxLineBytes,
    timeline: options.keepsOrder && timeline !== undefined ? inRuns(timeline()) : undefined,
    finished: AbortSignal.abort(),
    emitDaemonEvents: emit,
    translated: emit,
    outcome: () => Promise.resolve({ endedBy: turn.ended_by, exit }),
  });
  options.explain?.(explainTurn(facts));
  const data: TurnEndedData = {
    ...concludeTurn(facts),
    counts: { events: sequence.lastSeq() + 1, ...(consumed?.counts ?? NO_COUNTS) },
    duration_ms: options.now().getTime() - startedAt.getTime(),
    digest: sequence.digest(),
  };
  await emit([{ type: "turn.ended", data }]);
  return data;
}

const NO_COUNTS: Counts = { records: 0, unknown: 0, tools: 0, retries: 0 };
