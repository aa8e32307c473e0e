import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { ProblemError, type CancelReceipt } from "../../../protocol/index.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import type { Admission } from "../admission/admission.ts";
import type { RequestedStop } from "../lifecycle/inputs.ts";
import { hasEnded, LAST_LINES_MS, type Turn } from "../lifecycle/turn.ts";
import type { RunToEnd } from "./run.ts";
import type { Tidying } from "./tidying.ts";
import type { TurnQueue } from "../admission/queue.ts";
import type { Servers } from "./servers.ts";
import { dequeue } from "../admission/steering.ts";
import type { Removal } from "../store/removal.ts";
import type { TurnStore } from "../store/turn-store.ts";

export interface StopParts {
  readonly sessions: Pick<SessionStore, "get">;
  readonly store: Pick<TurnStore, "liveOfSession" | "isFollowed">;
  readonly queue: TurnQueue;
  readonly run: RunToEnd;
  readonly admission: Pick<Admission, "settled">;
  readonly tidying: Pick<Tidying, "settled">;
  readonly removal: Pick<Removal, "remove">;
  readonly servers: Pick<Servers, "endOf">;
  /** The ids of sessions that are being deleted: only this adds to them and takes from them. */
  readonly deleting: Set<string>;
  /** Whether a session is in use besides its turns, such as by an open terminal. */
  readonly isInUse: (sessionId: string) => boolean;
  readonly logger: Logger;
}

/** What ends turns, and removes sessions with them. */
export interface Stops {
  /**
   * Resolves when the turn has ended.
   *
   * @throws {ProblemError} storage_full where the stop could not be written
   */
  stop(turn: Turn, reason: RequestedStop): Promise<void>;
  /** Stops it, and waits for its last lines a limited time. */
  cancel(turn: Turn): Promise<CancelReceipt>;
  /** @throws {ProblemError} session_not_found while it is being deleted already */
  deleteSession(sessionId: string): Promise<void>;
  /** Deletes one that is not in use. Resolves false where it is, or is not there. */
  deleteIdle(sessionId: string): Promise<boolean>;
  /** Whether a turn waits or runs in it, a client follows it, or it is in use otherwise. */
  isInUse(sessionId: string): boolean;
}

export function createStops({ sessions, store, queue, run, deleting, logger, ...parts }: StopParts): Stops {
  async function stop(turn: Turn, reason: RequestedStop): Promise<void> {
    if (hasEnded(turn)) return;
    const sent = turn.send({ type: "stop_requested", reason });
    // A waiting turn runs to its end at once: it has one event, and no process.
    if (dequeue(queue, turn)) await run(turn, { hasHome: false });
    await sent.catch((error: unknown) => {
      if (!isStorageError(error)) throw error;
      const { turn_id: turnId, session_id: sessionId } = turn.file;
      logger.error({ turnId, sessionId, err: error }, "stop of a turn could not be written");
      throw new ProblemError("storage_full", `the state directory cannot be written: ${error.message}`);
    });
    await turn.finished;
  }

  function isInUse(sessionId: string): boolean {
    if (parts.isInUse(sessionId) || store.isFollowed(sessionId)) return true;
    return store.liveOfSession(sessionId).some((turn) => !hasEnded(turn));
  }

  /** @param isUnlessInUse - leaves one alone in which a turn waits or runs, which a client follows, or that is in use otherwise */
  async function remove(sessionId: string, isUnlessInUse: boolean): Promise<boolean> {
    if (deleting.has(sessionId)) throw new ProblemError("session_not_found", `session ${sessionId} is being deleted`);
    deleting.add(sessionId);
    try {
      // A request that was admitted before this is there to be stopped; no other is admitted.
      await parts.admission.settled();
      const turns = store.liveOfSession(sessionId);
      if (isUnlessInUse && isInUse(sessionId)) return false;
      await Promise.all(turns.map((turn) => stop(turn, "session_deleted")));
      // One whose end is logged may still write its result, and has its home to tidy.
      await Promise.all(turns.map(({ finished }) => finished));
      await parts.tidying.settled(sessionId);
      await parts.servers.endOf(sessionId);
      await parts.removal.remove(sessionId);
    } finally {
      deleting.delete(sessionId);
    }
    logger.info({ sessionId }, "session deleted");
    return true;
  }

  return {
    stop,
    isInUse,
    async cancel(turn) {
      const startedAt = performance.now();
      const wasEnded = hasEnded(turn);
      const lastLines = turn.stopped.then(() => delay(LAST_LINES_MS, undefined, { ref: false }));
      await Promise.race([stop(turn, "cancel"), lastLines]);
      // Law: never pretend. The next start finds no end of it, and makes another one.
      if (turn.unwrittenEnd !== undefined) {
        const { turn_id: id } = turn.file;
        throw new ProblemError(
          "storage_full",
          `turn ${id} has ended, and its end cannot be written: it may have another one after the next start`,
        );
      }
      return {
        turn_id: turn.file.turn_id,
        status: turn.status,
        already_ended: wasEnded,
        ended: turn.file.ended_processes ?? [],
        duration_ms: Math.round(performance.now() - startedAt),
      };
    },
    async deleteSession(sessionId) {
      await remove(sessionId, false);
    },
    async deleteIdle(sessionId) {
      if (deleting.has(sessionId) || sessions.get(sessionId) === undefined) return false;
      return remove(sessionId, true);
    },
  };
}
