import { findAwaited } from "../../client/activity.ts";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { second } from "../list/clock.tsx";
import { formatDuration } from "../text/format.ts";
import { Plain } from "../text/text.tsx";
import type { EventStore } from "./event-store.ts";

/** How a running turn shows that it lives: what it waits for, and when its last event came. */
export function ActivityLine({ turn, store }: { readonly turn: Tolerant<TurnSnapshot>; readonly store: EventStore }) {
  void store.version.value;
  const nowMs = second.value;
  const activity = store.activity.now();
  const awaited = findAwaited(activity, turn.running_command, nowMs);
  if (awaited === undefined || activity.last === undefined) return <span class="waiting">starts</span>;
  const silentMs = Math.max(0, nowMs - Date.parse(activity.last.at));
  return (
    <>
      <span class="waiting">
        {awaited.what === "model" ? "waits for " : "runs "}
        {awaited.what === "model" ? (
          <Plain text={awaited.name} />
        ) : (
          <code>
            <Plain text={awaited.name.slice(0, MOST_NAME)} />
          </code>
        )}
        , for {formatWhole(awaited.forMs)}
      </span>
      <span class="last-event">last event {formatWhole(silentMs)} ago</span>
    </>
  );
}

const MOST_NAME = 80;

/** In whole seconds: it changes once a second. */
function formatWhole(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1_000)} s` : formatDuration(ms);
}
