import { join } from "node:path";
import type { LoggedLine } from "../../event-log/logged-lines.ts";
import { readEvents, type TakeLines } from "../../event-log/read-events.ts";
import { hasEnded, type Turn } from "../lifecycle/turn.ts";
import type { TurnStore } from "./turn-store.ts";

/** A line of a session's stream; `id` is the cursor that goes on after it. */
export interface SessionLine extends LoggedLine {
  readonly id: string;
}

/** The last event a client has: everything after it is to come. */
export interface SessionCursor {
  readonly turnId: string;
  readonly seq: number;
}

export interface SessionEventsOptions {
  /** Go on with every turn that is still to be admitted, until the signal aborts or the session is gone. */
  readonly isFollowing: boolean;
  readonly signal: AbortSignal;
  /** As for the events of a turn. */
  readonly atOnce?: TakeLines<SessionLine> | undefined;
}

/**
 * Reads the events of all turns of a session, one after the other in the order in which they were admitted.
 *
 * Each turn is read as its own stream is (law: log first); the next begins when `turn.ended` has been given.
 */
export async function* readSessionEvents(
  store: TurnStore,
  sessionId: string,
  cursor: SessionCursor | undefined,
  { isFollowing, signal, atOnce }: SessionEventsOptions,
): AsyncGenerator<readonly SessionLine[]> {
  let last: Turn | undefined;
  const isGone = (): boolean => store.countOfSession(sessionId) === 0;
  while (!signal.aborted) {
    const grown = store.grown(sessionId, signal);
    const next =
      last === undefined && cursor !== undefined
        ? store.get(cursor.turnId)
        : store.nextOfSession(sessionId, last?.file.order);
    if (next === undefined || (!isFollowing && next.status === "queued")) {
      if (!isFollowing || (last !== undefined && isGone())) return;
      await grown;
      if (last !== undefined && isGone()) return;
      continue;
    }
    const turnId = next.file.turn_id;
    const afterSeq = last === undefined && cursor !== undefined ? cursor.seq : 0;
    const withIds = (lines: readonly LoggedLine[]): readonly SessionLine[] =>
      lines.map((line) => ({ ...line, id: `${turnId}:${line.seq}` }));
    const lines = readEvents(join(next.directory, "events.jsonl"), {
      afterSeq,
      isFollowing,
      signal,
      ...(next.tail.isEnded() ? {} : { tail: next.tail }),
      ...(atOnce === undefined ? {} : { atOnce: (batch) => atOnce(withIds(batch)) }),
    });
    for await (const batch of lines) yield withIds(batch);
    // Stopped before its end: the daemon is stopping, or there was no following.
    if (!hasEnded(next)) return;
    last = next;
  }
}
