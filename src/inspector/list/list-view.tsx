import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { isDialogOpen } from "../dialogs/open-dialog.ts";
import { moveFocus } from "../keyboard/roving.ts";
import { route, turnHref } from "../route.ts";
import { formatAge, formatDuration, shortId } from "../text/format.ts";
import { Plain } from "../text/text.tsx";
import { StatusMark } from "../turn/status.tsx";
import { hasMore, listed, listState, search, showMore, statusFilter, type ListedSession } from "./turn-list.ts";

const STATUSES = ["all", "queued", "running", "completed", "failed", "cancelled"] as const;

/** Sessions and their turns. */
export function ListView() {
  const now = useClock();
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
            statusFilter.value = STATUSES.find((status) => status === currentTarget.value) ?? "all";
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
          <SessionItem key={entry.session.session_id} entry={entry} now={now} />
        ))}
        {isLoaded && listed.value.length === 0 && <Empty />}
        {!isLoaded && fault === undefined && <p class="muted">Loading …</p>}
        {hasMore.value && (
          <button type="button" class="quiet" onClick={showMore}>
            Show older turns
          </button>
        )}
      </div>
    </nav>
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

function SessionItem({ entry, now }: { readonly entry: ListedSession; readonly now: number }) {
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
          <TurnItem key={turn.turn_id} turn={turn} now={now} />
        ))}
      </ul>
    </section>
  );
}

function TurnItem({ turn, now }: { readonly turn: Tolerant<TurnSnapshot>; readonly now: number }) {
  const isShown = route.value.turnId === turn.turn_id;
  const { started_at: startedAt, ended_at: endedAt } = turn;
  const ranMs =
    startedAt === undefined ? undefined : (endedAt === undefined ? now : Date.parse(endedAt)) - Date.parse(startedAt);
  const prompt = turn.input_excerpt ?? "";
  return (
    <li>
      <a
        class="turn-link"
        href={turnHref(turn.turn_id)}
        aria-current={isShown ? "page" : undefined}
        tabIndex={isShown ? 0 : -1}
        title={prompt}
      >
        <span class="turn-prompt">{prompt === "" ? shortId(turn.turn_id) : <Plain text={prompt} />}</span>
        <span class="turn-facts">
          <StatusMark status={turn.status} />
          {turn.executor === "replay" && <span>replay</span>}
          <span>{formatAge(turn.created_at, now)}</span>
          {ranMs !== undefined && <span>{formatDuration(Math.max(0, ranMs))}</span>}
          <span>{turn.last_seq} events</span>
        </span>
      </a>
    </li>
  );
}

/** Now, once a second. */
function useClock(): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1_000);
    return () => clearInterval(timer);
  }, [now]);
  return now.value;
}
