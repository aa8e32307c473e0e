import { useMemo } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { isDialogOpen } from "../dialogs/open-dialog.ts";
import { moveFocus } from "../keyboard/roving.ts";
import { route, turnHref } from "../route.ts";
import { formatCount, shortId } from "../text/format.ts";
import { Plain } from "../text/text.tsx";
import { visibleText } from "../text/visible.ts";
import { StatusMark } from "../turn/status.tsx";
import { Age, Running, useClocks } from "./clock.tsx";
import {
  filterByStatus,
  hasMore,
  isReadingOlder,
  listed,
  listState,
  search,
  showOlder,
  statusFilter,
  turns as known,
  type ListedSession,
} from "./turn-list.ts";

const STATUSES = ["all", "queued", "running", "completed", "failed", "cancelled"] as const;

/** Sessions and their turns. */
export function ListView() {
  useClocks();
  const { isLoaded, fault } = listState.value;
  return (
    <nav class="list" aria-label="Sessions and turns">
      <div class="list-tools">
        <input
          id="list-search"
          type="search"
          aria-label="Search turns"
          placeholder="Search turns"
          value={search.value}
          onInput={({ currentTarget }) => (search.value = currentTarget.value)}
        />
        <select
          aria-label="Status"
          value={statusFilter.value}
          onChange={({ currentTarget }) => {
            filterByStatus(STATUSES.find((status) => status === currentTarget.value) ?? "all");
          }}
        >
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {status === "all" ? "any status" : status}
            </option>
          ))}
        </select>
      </div>
      <div class="list-items" onKeyDown={(event) => moveFocus(event, ".turn-link")}>
        {listed.value.map((entry) => (
          <SessionItem key={entry.session.session_id} entry={entry} />
        ))}
        {isLoaded && listed.value.length === 0 && <Empty />}
        {!isLoaded && fault === undefined && <p class="muted">Loading …</p>}
        {hasMore.value && <Older />}
      </div>
    </nav>
  );
}

/** Leads to what is older than all that is listed. */
function Older() {
  const isSearch = search.value.trim() !== "";
  return (
    <div class="older">
      {isSearch && <p class="muted">Searched the newest {formatCount(known.value.length)} turns.</p>}
      <button type="button" class="quiet" disabled={isReadingOlder.value} onClick={() => void showOlder()}>
        {isReadingOlder.value ? "Reading …" : isSearch ? "Search older turns" : "Show older turns"}
      </button>
    </div>
  );
}

function Empty() {
  if (search.value !== "" || statusFilter.value !== "all") return <p class="muted">No turn matches.</p>;
  return (
    <div class="empty">
      <p>No turn yet.</p>
      <button type="button" onClick={() => (isDialogOpen.value = "new-turn")}>
        Start a turn
      </button>
    </div>
  );
}

function SessionItem({ entry }: { readonly entry: ListedSession }) {
  const { session, turns } = entry;
  return (
    <section class="session" aria-label={`Session ${session.session_id}`}>
      <h2 title={session.session_id}>
        <span class="session-name">{shortId(session.session_id)}</span>
        <span class="muted">{session.executor}</span>
        {session.executor !== "replay" && (
          <button
            type="button"
            class="quiet small"
            title="New turn in this session"
            aria-label={`New turn in session ${session.session_id}`}
            onClick={() => (isDialogOpen.value = { newTurnIn: session })}
          >
            +
          </button>
        )}
      </h2>
      {turns.length === 0 && <p class="muted">No turn yet.</p>}
      <ul>
        {turns.map((turn) => (
          <TurnItem key={turn.turn_id} turn={turn} />
        ))}
      </ul>
    </section>
  );
}

function TurnItem({ turn }: { readonly turn: Tolerant<TurnSnapshot> }) {
  const isShown = route.value.turnId === turn.turn_id;
  // Preact skips an element that is the same object: of thousands of turns a few change.
  return useMemo(() => <TurnRow turn={turn} isShown={isShown} />, [turn, isShown]);
}

function TurnRow({ turn, isShown }: { readonly turn: Tolerant<TurnSnapshot>; readonly isShown: boolean }) {
  const prompt = turn.input_excerpt ?? "";
  return (
    <li>
      <a
        class="turn-link"
        href={turnHref(turn.turn_id)}
        aria-current={isShown ? "page" : undefined}
        tabIndex={isShown ? 0 : -1}
        title={visibleText(prompt)}
      >
        <span class="turn-prompt">{prompt === "" ? shortId(turn.turn_id) : <Plain text={prompt} />}</span>
        <span class="turn-facts">
          <StatusMark status={turn.status} />
          {turn.executor === "replay" && <span>replay</span>}
          <Age since={turn.created_at} />
          {turn.started_at !== undefined && <Running from={turn.started_at} to={turn.ended_at} />}
          <span>
            {formatCount(turn.last_seq)} {turn.last_seq === 1 ? "event" : "events"}
          </span>
        </span>
      </a>
    </li>
  );
}
