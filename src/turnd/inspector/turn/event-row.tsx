import { useRef } from "preact/hooks";
import { viewOf } from "../events/event-view.tsx";
import { formatTime } from "../text/format.ts";
import type { Row } from "./event-store.ts";
import { SideBySide } from "./side-by-side.tsx";

export interface EventRowProps {
  readonly turnId: string;
  readonly row: Row;
  readonly place: { readonly index: number; readonly count: number };
  /** Whether the Tab key stops here: one row of the list is that. */
  readonly isStop: boolean;
  /** Whether its raw record and its fields are shown. */
  readonly isOpen: boolean;
  onFocus(): void;
  onToggle(): void;
}

/** One event of a turn. */
export function EventRow({ turnId, row, place, isStop, isOpen, onFocus, onToggle }: EventRowProps) {
  const { event, started } = row;
  const view = viewOf(event);
  const element = useRef<HTMLElement>(null);

  return (
    <article
      ref={element}
      class={`event ${view.tone}`}
      tabIndex={isStop ? 0 : -1}
      aria-posinset={place.index + 1}
      aria-setsize={place.count}
      aria-label={`${view.label}, event ${event.seq}`}
      onFocusIn={onFocus}
      onKeyDown={(pressed) => {
        if (pressed.target === element.current && (pressed.key === "Enter" || pressed.key === " ")) {
          pressed.preventDefault();
          onToggle();
        }
      }}
    >
      <header>
        <span class="label">{view.label}</span>
        <span class="headline">{view.headline}</span>
        {event.type === "tool.started" && <span class="pill running">running</span>}
        <span class="place">
          {event.at !== undefined && <time dateTime={event.at}>{formatTime(started?.at ?? event.at)}</time>}
          <button
            type="button"
            class="quiet small"
            aria-expanded={isOpen}
            tabIndex={isStop ? 0 : -1}
            title="Raw record and unified event"
            onClick={onToggle}
          >
            #{started === undefined ? event.seq : `${started.seq}–${event.seq}`}
          </button>
        </span>
      </header>
      {view.body !== undefined && view.body !== null && <div class="body">{view.body}</div>}
      {isOpen && <SideBySide turnId={turnId} event={event} />}
    </article>
  );
}
