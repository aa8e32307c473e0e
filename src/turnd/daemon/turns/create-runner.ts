import type { Logger } from "pino";
import { defined } from "../../../kit/defined.ts";
import type { GroupsState } from "../process/cgroup/cgroup.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { Executors } from "./executors/executors.ts";
import type { TurnLimits } from "./lifecycle/limits.ts";
import type { TurnObserver } from "./lifecycle/observer.ts";
import type { TurnTracer } from "./lifecycle/tracer.ts";
import { hasEnded, type Turn } from "./lifecycle/turn.ts";
import { endTurn, endWithoutLog } from "./outcome/end.ts";
import { playTurn } from "./replay/play.ts";
import { runTurn, type RunToEnd } from "./run/run.ts";
import type { RunCli, Siblings } from "./run/run-cli.ts";
import type { Tidying } from "./run/tidying.ts";
import type { SecretBook } from "./store/secret-book.ts";
import type { TurnStore } from "./store/turn-store.ts";

export interface RunnerParts {
  readonly runCli: RunCli;
  readonly executors: Executors;
  readonly sessions: Pick<SessionStore, "get" | "update">;
  readonly groups: GroupsState;
  readonly limits: Pick<TurnLimits, "maxLineBytes">;
  readonly observer: TurnObserver;
  readonly tracer: Pick<TurnTracer, "ended">;
  readonly secrets: Pick<SecretBook, "redactorOf" | "end">;
  readonly store: Pick<TurnStore, "earlierDirectories" | "conclude">;
  readonly tidying: Pick<Tidying, "begin" | "settled">;
  readonly now: () => Date;
  /** Milliseconds since the epoch, for the time of events. */
  readonly clock: () => number;
  readonly logger: Logger;
}

/**
 * Makes what runs a turn to its end, of a CLI or of a recording, and leaves its home in order. It never throws.
 *
 * `hasHome` is false for a turn that ends while it waits in line: what is in the home belongs to another turn.
 */
export function createRunner(parts: RunnerParts): RunToEnd {
  const { secrets, store, tidying } = parts;

  function siblingsOf({ file }: Turn): Siblings {
    return {
      earlierTurns: () => store.earlierDirectories(file.session_id, file.order),
      whenTidy: () => tidying.settled(file.session_id),
    };
  }

  return async (turn, { hasHome }) => {
    const { turn_id: turnId, session_id: sessionId, trace_id: traceId, replay } = turn.file;
    // Whatever is logged of a turn can be found by its session and its trace too.
    const logger = parts.logger.child({ sessionId, ...defined({ traceId }) });
    // Its session's secrets are taken out of all that is logged and served of a turn.
    const named = { ...parts, redact: secrets.redactorOf(sessionId), logger };
    await turn.send({ type: "dequeued" });
    try {
      await runTurn({ ...named, endTurn: (ended, log, outcome) => endTurn(named, ended, log, outcome) }, turn, (open) =>
        replay === undefined ? parts.runCli(open, siblingsOf(turn), logger) : playTurn(parts, open),
      );
    } catch (error) {
      // What comes after its end changes nothing for the turn any more.
      if (hasEnded(turn)) logger.error({ turnId, err: error }, "turn could not be left in order");
      else await endWithoutLog(named, turn, error);
    } finally {
      if (hasEnded(turn)) secrets.end(turnId);
      // Before those who wait for the end are notified: they wait for the tidying too.
      if (hasEnded(turn)) tidying.begin(turn, { hasHome });
      await turn.send({ type: "closed" });
      // Nothing of it changes any more: what is known of it is on the disk, and in the index.
      void tidying.settled(sessionId).then(() => store.conclude(turn));
    }
  };
}
