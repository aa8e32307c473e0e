import { signal, type ReadonlySignal } from "@preact/signals";
import { groupOf, type Group } from "../events/presenters.tsx";
import { toShown, type ShownEvent } from "../events/shown-event.ts";
import { watchActivity, type ActivityWatch } from "../../client/activity.ts";
import { turnd, untilLoggedIn } from "../connection.ts";
import { TurndHistoryError } from "../../client/errors.ts";
import type { Following } from "../../client/follow.ts";
import { ProblemError } from "../../protocol/problems.ts";
import { untilSeen, whileSeen } from "../page-visibility.ts";
import { claimStreamPlace } from "./stream-places.ts";

/** A line of the list: an event, or a tool call's end together with its start. */
export interface Row {
  readonly event: ShownEvent;
  readonly group: Group;
  /** The start of the call whose end `event` is. */
  readonly started: ShownEvent | undefined;
}

/** How the reading of a turn's events stands. */
export type Reading =
  | { readonly state: "reading" }
  | { readonly state: "ended"; readonly isProved: boolean }
  | { readonly state: "failed"; readonly message: string };

/** The result of a reading: the turn's end, or where it goes on. */
interface Read {
  readonly following: Following;
  readonly isOver: boolean;
}

/** How long events are asked for before a place for a stream is looked for again. */
const RETRY_MS = 10_000;

/** A turn's events as they arrive. */
export interface EventStore {
  /** Every event in order; grows. */
  readonly events: readonly ShownEvent[];
  /** The events as they are listed; grows, and the row of a tool call is replaced when the call has ended. */
  readonly rows: readonly Row[];
  /** Changes when the two have changed: once a frame at most. */
  readonly version: ReadonlySignal<number>;
  readonly reading: ReadonlySignal<Reading>;
  /** What the turn does, by these events. */
  readonly activity: Pick<ActivityWatch, "now">;
  /** Ends the reading. */
  close(): void;
}

/** Follows a turn from its first event. */
export function followEvents(turnId: string): EventStore {
  const events: ShownEvent[] = [];
  const rows: Row[] = [];
  const openTools = new Map<string, number>();
  const version = signal(0);
  const activity = watchActivity();
  const reading = signal<Reading>({ state: "reading" });
  const controller = new AbortController();
  let isScheduled = false;

  function changed(): void {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      version.value += 1;
    });
  }

  function add(event: ShownEvent): void {
    events.push(event);
    const { known } = event;
    const id = known?.type === "tool.started" || known?.type === "tool.ended" ? known.data.tool_call_id : undefined;
    const at = known?.type === "tool.ended" && id !== undefined ? openTools.get(id) : undefined;
    const row = { event, group: groupOf(event.type), started: at === undefined ? undefined : rows[at]?.event };
    if (at !== undefined && id !== undefined) {
      rows[at] = row;
      openTools.delete(id);
    } else {
      if (known?.type === "tool.started" && id !== undefined) openTools.set(id, rows.length);
      rows.push(row);
    }
    changed();
  }

  async function read(): Promise<void> {
    const { signal: closed } = controller;
    /** Where a reading that was ended on purpose goes on. */
    let after: string | undefined;
    try {
      for (;;) {
        const { following, isOver } = await readSeen(after, closed);
        after = following.cursor;
        if (!isOver) continue;
        reading.value = { state: "ended", isProved: following.isProved };
        return;
      }
    } catch (error) {
      if (closed.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      const isGone = error instanceof TurndHistoryError && error.reason === "removed";
      reading.value = { state: "failed", message: isGone ? "This turn was deleted." : message };
    }
  }

  /**
   * Reads while the page is seen: a stream keeps one of the few connections that a browser has for all its tabs. Where other
   * tabs have them, the events are asked for every second instead, until there may be a place again.
   */
  async function readSeen(after: string | undefined, closed: AbortSignal): Promise<Read> {
    await untilSeen(closed);
    const place = claimStreamPlace();
    const seen = whileSeen();
    const ends = [closed, seen.signal, ...(place === undefined ? [AbortSignal.timeout(RETRY_MS)] : [])];
    const ended = AbortSignal.any(ends);
    // A page stays open as long as its reader likes, whatever turnd does meanwhile.
    const following = turnd.follow(turnId, { after, poll: place === undefined, signal: ended, lostAfterMs: Infinity });
    try {
      // Iterated again, it goes on after the last event.
      for (let isRead = false; !isRead;) isRead = await readOn(following, closed);
      return { following, isOver: true };
    } catch (error) {
      if (closed.aborted || !ended.aborted) throw error;
      return { following, isOver: false };
    } finally {
      seen.stop();
      place?.release();
    }
  }

  /** @returns false where it was refused for want of a login, and there is one now */
  async function readOn(following: Following, closed: AbortSignal): Promise<boolean> {
    try {
      for await (const event of following) {
        activity.note(event);
        add(toShown(event));
      }
      return true;
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "unauthorized") throw error;
      await untilLoggedIn(closed);
      return false;
    }
  }

  void read();
  return { events, rows, version, reading, activity, close: () => controller.abort() };
}
