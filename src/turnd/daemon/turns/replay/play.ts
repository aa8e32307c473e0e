import { join } from "node:path";
import type { TimelineEntry } from "../../../protocol/index.ts";
import type { NewEvent } from "../../event-log/sequence.ts";
import type { OutputBatch } from "../../process/output/follow.ts";
import { openRecording } from "../../replay/recording.ts";
import { fromEvents } from "../../replay/timeline.ts";
import { writeFileAtomic } from "../../storage/atomic-file.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import type { OpenTurn } from "../run/run.ts";
import { OUTPUT, keepLines } from "../store/output-files.ts";
import { playTimeline } from "./player.ts";
import { isSameText } from "../run/logged-event.ts";
import type { Progress } from "../run/progress.ts";
import { runReplayCore } from "./replay-core.ts";
import { neverRan, storageFault, type RunOutcome } from "../outcome/run-outcome.ts";
import type { TurnProcess } from "../lifecycle/inputs.ts";
import { startedNow } from "../lifecycle/ran-for.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";

export interface PlayParts {
  readonly executors: Executors;
  readonly limits: Pick<TurnLimits, "maxLineBytes">;
  readonly now: () => Date;
}

/**
 * Plays the recording of a turn of executor `replay`, or goes on where an earlier daemon was killed.
 *
 * No process is started, so there is no keeper, no `started` and nothing to adopt: what has been played is in the files,
 * what has been emitted is in the log, and translating the same lines in the same order again gives the same events.
 * @returns undefined when the daemon stops before anything was played: the turn waits for the next start
 */
export async function playTurn(parts: PlayParts, open: OpenTurn): Promise<RunOutcome | undefined> {
  const { turn, emitter, progress } = open;
  const { replay } = turn.file;
  if (replay === undefined) throw new Error(`turn ${turn.file.turn_id} is no replay`);
  const hasBegun = turn.file.started_at !== undefined;
  if (!hasBegun && replay.has_run && turn.life.stopReason === undefined) {
    await turn.send({ type: "prepared", start: startedNow(parts.now()) });
  }
  // Asked to end before anything was played: also while the start was written.
  const { stopReason } = turn.life;
  if (!hasBegun && stopReason !== undefined) {
    await turn.send({ type: "start_given_up" });
    return turn.life.phase === "postponed" ? undefined : neverRan(turn, undefined);
  }

  const playing = await startPlaying(open, replay);
  const isNews = newsAfter(progress);
  const recording = await openRecording(turn.directory);
  const { facts, consumed } = await runReplayCore(recording, {
    executor: executorOf(parts.executors, turn.file.executor).executor,
    maxLineBytes: parts.limits.maxLineBytes,
    timeline: playing.timeline,
    finished: playing.finished,
    cut: playing.cut,
    onBatch: playing.onBatch,
    emitDaemonEvents: (events) => emitter.emitDaemonEvents(events.filter(isNews)),
    translated: emitter.translated,
    outcome: playing.outcome,
  });
  await playing.close();
  // What was stopped half-way has not emitted again all that is logged.
  if (!playing.cut.aborted) await emitter.finish();
  const fault = storageFault(emitter.fault());
  return {
    facts: fault === undefined ? facts : { ...facts, halt: fault },
    ...(consumed === undefined
      ? {}
      : { ran: { ending: consumed.ending, counts: { ...consumed.counts, ...emitter.counts() } } }),
  };
}

interface Playback {
  readonly timeline: AsyncIterable<TimelineEntry>;
  readonly finished: AbortSignal;
  readonly cut: AbortSignal;
  onBatch(batch: OutputBatch): void;
  outcome(): Promise<Pick<RunOutcome["facts"], "endedBy" | "exit">>;
  /** Makes the turn's directory the equal of what has been played. */
  close(): Promise<void>;
}

/** Begins to play. */
async function startPlaying({ turn, logPath }: OpenTurn, replay: NonNullable<TurnFile["replay"]>): Promise<Playback> {
  const cut = new AbortController();
  const finished = new AbortController();
  const taken = { stdout: 0, stderr: 0 };
  // Stopped by an earlier daemon: what is logged is the turn, and no more.
  const wasStopped = turn.life.stopReason !== undefined && turn.life.isReasonInherited;
  let stopping: Promise<void> | undefined;

  function end(): void {
    cut.abort();
    finished.abort();
  }
  const player: TurnProcess = {
    // First the reason, then the stop: a daemon that is killed in between must not play on.
    stop({ saved }) {
      if (!wasStopped) stopping = saved.then(end);
    },
    abandonOutput: () => {},
  };
  await turn.send({ type: "process_started", process: player });

  async function* timeline(): AsyncGenerator<TimelineEntry> {
    if (wasStopped) {
      yield* fromEvents(logPath);
      end();
    } else {
      yield* playTimeline({ directory: turn.directory, speed: replay.speed, stopped: cut.signal });
      finished.abort();
    }
  }
  return {
    timeline: timeline(),
    finished: finished.signal,
    cut: cut.signal,
    onBatch({ lines }) {
      for (const { source, number } of lines) taken[source] = number;
    },
    async outcome() {
      // What has come to its end by itself is not stopped any more; a stop that came before is waited for.
      await turn.send({ type: "process_ended", mayStartAfresh: false });
      await stopping;
      if (cut.signal.aborted) return { endedBy: turn.life.stopReason ?? null, exit: null };
      return { endedBy: replay.ended_by, exit: replay.exit };
    },
    async close() {
      if (cut.signal.aborted) {
        await keepLines(join(turn.directory, OUTPUT.stdout), taken.stdout);
        await keepLines(join(turn.directory, OUTPUT.stderr), taken.stderr);
      } else if (!replay.is_played) {
        if (replay.exit !== null) {
          await writeFileAtomic(join(turn.directory, "exit.json"), `${JSON.stringify(replay.exit)}\n`);
        }
        await turn.send({ type: "played" });
      }
    },
  };
}

/** Skips what turnd itself has emitted before an earlier daemon was killed. */
function newsAfter(progress: Progress): (event: NewEvent) => boolean {
  const warnings = [...progress.warnings];
  return ({ type, data }) => {
    if (type === "turn.started") return !progress.hasStarted;
    if (type === "session.degraded") return !progress.isDegraded;
    if (type !== "warning") return true;
    const at = warnings.findIndex(
      ({ code, message }) => code === data.code && isSameText(String(message), data.message),
    );
    if (at !== -1) warnings.splice(at, 1);
    return at === -1;
  };
}
