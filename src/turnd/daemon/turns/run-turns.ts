import type { SessionStore } from "../sessions/session-store.ts";
import type { TurnObserver } from "./lifecycle/observer.ts";
import { hasEnded, type Turn } from "./lifecycle/turn.ts";
import { endWithoutLog } from "./outcome/end.ts";
import { playTurn, type PlayParts } from "./replay/play.ts";
import type { CliParts, CliRunOptions } from "./run/cli-run.ts";
import { runCliTurn } from "./run/run-cli.ts";
import { runTurn, type RunParts, type RunToEnd } from "./run/run.ts";
import type { Tidying } from "./run/tidying.ts";
import type { SecretBook } from "./store/secret-book.ts";
import type { TurnStore } from "./store/turn-store.ts";

export interface RunTurnsParts extends CliParts, PlayParts, RunParts {
  readonly sessions: SessionStore;
  readonly limits: CliParts["limits"];
  readonly observer: TurnObserver;
  readonly secrets: Pick<SecretBook, "redactorOf" | "end">;
  readonly store: Pick<TurnStore, "earlierDirectories" | "conclude">;
  readonly tidying: Tidying;
}

/**
 * Makes what runs a turn to its end, of a CLI or of a recording, and leaves its home in order. It never throws.
 *
 * `hasHome` is false for a turn that ends while it waits in line: what is in the home belongs to another turn.
 */
export function createRunner(parts: RunTurnsParts): RunToEnd {
  const { secrets, store, tidying, logger } = parts;

  /** Its session's secrets are taken out of all that is logged and served of a turn. */
  const partsOf = ({ file }: Turn): RunTurnsParts => ({
    ...parts,
    redact: secrets.redactorOf(file.session_id),
    // Whatever is logged of a turn can be found by its session and its trace too.
    logger: logger.child({
      sessionId: file.session_id,
      ...(file.trace_id === undefined ? {} : { traceId: file.trace_id }),
    }),
  });

  function siblingsOf({ file }: Turn): CliRunOptions {
    return {
      earlierTurns: () => store.earlierDirectories(file.session_id, file.order),
      whenTidy: () => tidying.settled(file.session_id),
    };
  }

  return async (turn, { hasHome }) => {
    await turn.send({ type: "dequeued" });
    try {
      await runTurn(partsOf(turn), turn, (open) =>
        turn.file.replay === undefined
          ? runCliTurn(partsOf(turn), open, siblingsOf(turn))
          : playTurn(partsOf(turn), open),
      );
    } catch (error) {
      // What comes after its end changes nothing for the turn any more.
      const { turn_id: turnId } = turn.file;
      if (hasEnded(turn)) partsOf(turn).logger.error({ turnId, err: error }, "turn could not be left in order");
      else await endWithoutLog(partsOf(turn), turn, error);
    } finally {
      if (hasEnded(turn)) secrets.end(turn.file.turn_id);
      // Before those who wait for the end are notified: they wait for the tidying too.
      if (hasEnded(turn)) tidying.begin(turn, { hasHome });
      await turn.send({ type: "closed" });
      // Nothing of it changes any more: what is known of it is on the disk, and in the index.
      void tidying.settled(turn.file.session_id).then(() => store.conclude(turn));
    }
  };
}
