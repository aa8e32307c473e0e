import { warningEvent } from "../../../protocol/index.ts";
import type { TranslatedEvent } from "../../executors/contract/executor.ts";
import { takenLines } from "../crash-recovery/progress.ts";
import { followAttempt } from "./attempt.ts";
import type { Run } from "./run-state.ts";
import { describeHits } from "./turn-group.ts";

/** What a turn does while its process runs or is being stopped: follows it to its end, and logs what it did. */
export async function followProcess(run: Run, found: NonNullable<Run["found"]>): Promise<void> {
  const { context, turn, emitter } = run;
  run.found = undefined;
  let { spawnedAt } = found;
  const attempt = await followAttempt(context, turn, {
    started: found.started,
    taken: takenLines(run.logPath),
    requestedSession: turn.file.requested_session ?? null,
    emit: async (events, lines) => {
      if (spawnedAt !== undefined && events.length > 0) {
        context.observer.firstEvent(turn.file.executor, performance.now() - spawnedAt);
        spawnedAt = undefined;
      }
      await bindSession(run, events);
      await emitter.translated(events, lines);
    },
    isCaughtUp: emitter.isCaughtUp,
    onOutputCut: () => emitter.warnOnce("output_cut", OUTPUT_CUT),
  });
  run.attempt = attempt;
  const isResumeLost = !attempt.hasEmitted;
  const mayStartAfresh = isResumeLost && turn.file.resume_policy === "continue";
  await turn.send({ type: "process_ended", mayStartAfresh });
  if (attempt.sweepError !== undefined) {
    context.logger.error({ turnId: turn.file.turn_id, err: attempt.sweepError }, "processes left behind");
    await emitter.own([warningEvent("processes_left", attempt.sweepError.message)]);
  }
  const hits = describeHits(context, turn.file);
  if (hits !== undefined) await emitter.own([warningEvent("limit_reached", hits)]);
}

const OUTPUT_CUT = "The turn's events have become too many: the rest of what was printed is neither logged nor kept.";

/** Before its event is logged: a turn that is stopped before the first output stays resumable. */
async function bindSession({ context, turn }: Run, events: readonly TranslatedEvent[]): Promise<void> {
  for (const event of events) {
    if (event.type !== "session.bound") continue;
    const { native_session_id } = event.data;
    if (context.sessions.get(turn.file.session_id)?.native_session_id === native_session_id) continue;
    await context.sessions.update(turn.file.session_id, { native_session_id });
  }
}
