import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { GROUPS, type Group } from "../events/presenters.tsx";
import { formatCount } from "../text/format.ts";
import { keepPlace } from "../route.ts";
import { EventRow } from "./event-row.tsx";
import type { EventStore } from "./event-store.ts";
import { eventSearch, filterRows, hiddenGroups, toggleGroup } from "./filter.ts";
import { VirtualList } from "./virtual-list.tsx";

const GROUP_NAMES: Readonly<Record<Group, string>> = {
  messages: "Messages",
  reasoning: "Reasoning",
  tools: "Tools",
  steps: "Steps",
  problems: "Problems",
  other: "Other",
};

export interface EventListProps {
  readonly turnId: string;
  readonly store: EventStore;
  /** Whether the turn runs as it is opened: then its last events are seen first. */
  readonly isRunning: boolean;
  /** Shows only events up to this one: the place of the time slider. */
  readonly upToSeq: number | undefined;
  /** The `seq` of an event that is to be shown first. */
  readonly place: number | undefined;
}

/** A turn's events as they arrive, to be searched, filtered and gone through by keys. */
export function EventList({ turnId, store, isRunning, upToSeq, place }: EventListProps) {
  /** The row that the Tab key stops at. */
  const focused = useSignal<number | undefined>(undefined);
  const goTo = useSignal<{ readonly index: number } | undefined>(undefined);
  const opened = useSignal<ReadonlySet<number>>(new Set());
  const isAtEnd = useSignal(isRunning && place === undefined);
  const { rows: all, lastSeq } = useComputed(() => {
    void store.version.value;
    // Together: the store has more than the page shows until the next frame.
    const rows = filterRows(store.rows, hiddenGroups.value, eventSearch.value);
    return { rows, lastSeq: store.events.at(-1)?.seq ?? 0 };
  }).value;
  const shown = upToSeq === undefined ? all : all.filter((at) => (store.rows[at]?.event.seq ?? 0) <= upToSeq);
  const wanted = place === undefined || lastSeq < place ? -1 : placeOf(store, shown, place);
  const gone = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (wanted === -1 || gone.current === place) return;
    gone.current = place;
    isAtEnd.value = false;
    goTo.value = { index: wanted };
  }, [wanted, place, goTo, isAtEnd]);
  const isLive = store.reading.value.state === "reading";

  function toggle(seq: number): void {
    const next = new Set(opened.value);
    if (!next.delete(seq)) next.add(seq);
    opened.value = next;
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
    const at = focused.value ?? -1;
    const to = targetOf(event.key, at, shown.length);
    if (to === undefined) return;
    event.preventDefault();
    isAtEnd.value = to === shown.length - 1;
    focused.value = to;
    goTo.value = { index: to };
  }

  return (
    <div class="events">
      <div class="event-tools">
        <input
          id="event-search"
          type="search"
          aria-label="Search events"
          placeholder="Search events"
          value={eventSearch.value}
          onInput={({ currentTarget }) => (eventSearch.value = currentTarget.value)}
        />
        <div class="chips" role="group" aria-label="Which events are shown">
          {GROUPS.map((group) => (
            <button
              key={group}
              type="button"
              class="chip"
              aria-pressed={!hiddenGroups.value.has(group)}
              onClick={() => toggleGroup(group)}
            >
              {GROUP_NAMES[group]}
            </button>
          ))}
        </div>
        <span class="muted" role="status">
          {formatCount(shown.length)} of {formatCount(store.rows.length)}
        </span>
      </div>
      {shown.length === 0 && store.rows.length > 0 && <p class="muted empty">No event matches.</p>}
      <VirtualList
        key={turnId}
        count={shown.length}
        estimate={64}
        label="Events"
        isFollowing={isAtEnd.value && isLive}
        goTo={goTo.value}
        keyOf={(index) => store.rows[shown[index] ?? 0]?.event.seq ?? index}
        onKeyDown={onKeyDown}
        onAtEnd={(atEnd) => (isAtEnd.value = atEnd)}
        render={(index) => {
          const row = store.rows[shown[index] ?? 0];
          if (row === undefined) return null;
          return (
            <EventRow
              turnId={turnId}
              row={row}
              place={{ index, count: shown.length }}
              isStop={focused.value === undefined ? index === 0 : focused.value === index}
              isOpen={opened.value.has(row.event.seq)}
              onFocus={() => {
                focused.value = index;
                keepPlace(turnId, "events", row.event.seq);
              }}
              onToggle={() => toggle(row.event.seq)}
            />
          );
        }}
      />
      {!isAtEnd.value && isLive && (
        <button type="button" class="to-end" onClick={() => (isAtEnd.value = true)}>
          Follow
        </button>
      )}
    </div>
  );
}

/** Where an event stands in the list, or the one before it where it is hidden. */
function placeOf({ rows }: EventStore, shown: readonly number[], seq: number): number {
  return shown.findLastIndex((at) => {
    const row = rows[at];
    return row !== undefined && (row.started ?? row.event).seq <= seq;
  });
}

const PAGE = 10;

function targetOf(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (key === "ArrowDown" || key === "j") return Math.min(count - 1, at + 1);
  if (key === "ArrowUp" || key === "k") return Math.max(0, at - 1);
  if (key === "PageDown") return Math.min(count - 1, at + PAGE);
  if (key === "PageUp") return Math.max(0, at - PAGE);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : undefined;
}
