import { warningEvent } from "../../../protocol/index.ts";
import type { TranslatedEvent } from "../../executors/contract/translator.ts";
import { takenLines } from "./progress.ts";
import { followAttempt } from "./attempt.ts";
import type { CliRun } from "./cli-run.ts";
import type { StopReason } from "../lifecycle/life.ts";
import { describeHits } from "./turn-group.ts";

/** What a turn does while its process runs or is being stopped: follows it to its end, and logs what it did. */
export async function followProcess(run: CliRun, found: NonNullable<CliRun["found"]>): Promise<void> {
  const { parts, turn, emitter } = run;
  run.found = undefined;
  let { spawnedAt } = found;
  const attempt = await followAttempt(parts, turn, {
    started: found.started,
    taken: takenLines(run.logPath),
    requestedSession: turn.file.requested_session ?? null,
    emit(events, lines) {
      if (spawnedAt !== undefined && events.length > 0) {
        parts.observer.firstEvent(turn.file.executor, performance.now() - spawnedAt);
        spawnedAt = undefined;
      }
      if (!events.some(({ type }) => type === "session.bound")) return emitter.translated(events, lines);
      return bindSession(run, events).then(() => emitter.translated(events, lines));
    },
    isCaughtUp: emitter.isCaughtUp,
    onOutputCut: () => emitter.warnOnce("output_cut", OUTPUT_CUT),
  });
  run.attempt = attempt;
  const isResumeLost = !attempt.hasEmitted;
  const mayStartAfresh = isResumeLost && turn.file.resume_policy === "continue";
  await turn.send({ type: "process_ended", mayStartAfresh });
  if (attempt.sweepError !== undefined) {
    parts.logger.error({ turnId: turn.file.turn_id, err: attempt.sweepError }, "processes left behind");
    await emitter.emitDaemonEvents([warningEvent("processes_left", attempt.sweepError.message)]);
  }
  if (attempt.ending.proof !== undefined && END_BY_CLOCK.has(turn.life.stopReason)) {
    await emitter.warnOnce("cli_did_not_exit", DID_NOT_EXIT);
  }
  const hits = describeHits(parts, turn.file);
  if (hits !== undefined) await emitter.emitDaemonEvents([warningEvent("limit_reached", hits)]);
}

const END_BY_CLOCK: ReadonlySet<StopReason | undefined> = new Set(["exit_timeout", "idle_timeout", "turn_timeout"]);
const DID_NOT_EXIT = "The CLI had completed the turn and did not exit: it was ended.";
const OUTPUT_CUT = "The turn's events have become too many: the rest of what was printed is neither logged nor kept.";

/** Before its event is logged: a turn that is stopped before the first output stays resumable. */
async function bindSession({ parts, turn }: CliRun, events: readonly TranslatedEvent[]): Promise<void> {
  for (const event of events) {
    if (event.type !== "session.bound") continue;
    const { native_session_id } = event.data;
    if (parts.sessions.get(turn.file.session_id)?.native_session_id === native_session_id) continue;
    const { home: native_home } = parts.sessions.paths(turn.file.session_id);
    const change = { native_session_id, native_home, native_history_lost: undefined };
    await parts.sessions.update(turn.file.session_id, change);
  }
}
