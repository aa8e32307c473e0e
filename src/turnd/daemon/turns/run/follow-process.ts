import type { Logger } from "pino";
import { warningEvent } from "../../../protocol/index.ts";
import type { TranslatedEvent } from "../../executors/contract/translator.ts";
import type { GroupsState } from "../../process/cgroup/cgroup.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { StopReason } from "../lifecycle/life.ts";
import type { TurnObserver } from "../lifecycle/observer.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { AttemptOptions, AttemptResult } from "./attempt.ts";
import { takenLines } from "./progress.ts";
import type { OpenTurn } from "./run.ts";
import type { FoundProcess } from "./start-process.ts";
import { describeHits } from "./turn-group.ts";

export interface FollowParts {
  readonly sessions: Pick<SessionStore, "get" | "paths" | "update">;
  readonly groups: GroupsState;
  readonly observer: Pick<TurnObserver, "firstEvent">;
  readonly follow: (turn: Turn, options: AttemptOptions) => Promise<AttemptResult>;
  readonly logger: Logger;
}

/** What a turn does while its process runs or is being stopped: follows it to its end, and logs what it did. */
export async function followProcess(
  parts: FollowParts,
  { turn, emitter, logPath }: Pick<OpenTurn, "turn" | "emitter" | "logPath">,
  found: FoundProcess,
): Promise<AttemptResult> {
  let { spawnedAt } = found;
  const attempt = await parts.follow(turn, {
    body: found.body,
    taken: takenLines(logPath),
    requestedSession: turn.file.requested_session ?? null,
    emit(events, lines) {
      if (spawnedAt !== undefined && events.length > 0) {
        parts.observer.firstEvent(turn.file.executor, performance.now() - spawnedAt);
        spawnedAt = undefined;
      }
      if (!events.some(({ type }) => type === "session.bound")) return emitter.translated(events, lines);
      return bindSession(parts.sessions, turn, events).then(() => emitter.translated(events, lines));
    },
    isCaughtUp: emitter.isCaughtUp,
    onOutputCut: () => emitter.warnOnce("output_cut", OUTPUT_CUT),
  });
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
  return attempt;
}

const END_BY_CLOCK: ReadonlySet<StopReason | undefined> = new Set(["exit_timeout", "idle_timeout", "turn_timeout"]);
const DID_NOT_EXIT = "The CLI had completed the turn and did not exit: it was ended.";
const OUTPUT_CUT = "The turn's events have become too many: the rest of what was printed is neither logged nor kept.";

/** Before its event is logged: a turn that is stopped before the first output stays resumable. */
async function bindSession(
  sessions: FollowParts["sessions"],
  { file: { session_id: id } }: Turn,
  events: readonly TranslatedEvent[],
): Promise<void> {
  for (const event of events) {
    if (event.type !== "session.bound") continue;
    const { native_session_id } = event.data;
    if (sessions.get(id)?.native_session_id === native_session_id) continue;
    await sessions.update(id, {
      native_session_id,
      native_home: sessions.paths(id).home,
      native_history_lost: undefined,
    });
  }
}
