import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { login, renewals, turnd } from "../connection.ts";
import { refreshList, turns } from "../list/turn-list.ts";
import { isPageSeen } from "../page-visibility.ts";
import { goTo, route, TABS, turnHref, type Tab } from "../route.ts";
import { Asks } from "./asks.tsx";
import { Composer } from "./composer.tsx";
import { DiffView } from "./diff-view.tsx";
import { EventList } from "./event-list.tsx";
import { followEvents, type EventStore } from "./event-store.ts";
import { RawView } from "./raw-view.tsx";
import { Timeline } from "./timeline.tsx";
import { TurnHeader } from "./turn-header.tsx";
import { VerdictView } from "./verdict-view.tsx";

const TAB_NAMES: Readonly<Record<Tab, string>> = {
  events: "Events",
  raw: "Side by side",
  verdict: "Verdict",
  diff: "Diff",
};

/** A turn: what it was asked, what happens, and what came of it. One instance shows one turn. */
export function TurnPage({ turnId }: { readonly turnId: string }) {
  const store = useEvents(turnId);
  const turn = useTurn(turnId, store);
  const upToSeq = useSignal<number | undefined>(undefined);
  const { tab, place } = route.value;
  if (turn.fault !== undefined) {
    return (
      <main class="turn" tabIndex={-1}>
        <p role="alert" class="fault">
          {turn.fault}
        </p>
        <a href="#/">All turns</a>
      </main>
    );
  }
  return (
    <main class="turn" tabIndex={-1} aria-label="Turn">
      {turn.snapshot !== undefined && <TurnHeader turn={turn.snapshot} store={store} />}
      <div class="tabs" role="tablist" aria-label="Views of the turn">
        {TABS.map((name) => (
          <a
            key={name}
            role="tab"
            aria-selected={name === tab}
            aria-controls="tab-panel"
            href={turnHref(turnId, name)}
            tabIndex={name === tab ? 0 : -1}
            onKeyDown={(event) => moveTab(event, turnId, name)}
          >
            {TAB_NAMES[name]}
          </a>
        ))}
      </div>
      <div id="tab-panel" role="tabpanel" class="panel">
        {tab === "events" && turn.snapshot !== undefined && (
          <EventList
            turnId={turnId}
            store={store}
            isRunning={turn.snapshot.ended_at === undefined}
            upToSeq={upToSeq.value}
            place={place}
          />
        )}
        {tab === "raw" && <RawView key={turnId} turnId={turnId} store={store} line={place} />}
        {tab === "diff" && <DiffView key={turnId} turnId={turnId} store={store} />}
        {tab === "verdict" && <VerdictView turnId={turnId} store={store} />}
      </div>
      {tab === "events" && turn.snapshot !== undefined && (
        <Timeline key={turnId} turn={turn.snapshot} store={store} upToSeq={upToSeq} />
      )}
      {turn.snapshot?.ended_at === undefined && <Asks turnId={turnId} store={store} />}
      {turn.snapshot !== undefined && turn.snapshot.executor !== "replay" && <Composer turn={turn.snapshot} />}
    </main>
  );
}

function moveTab(event: KeyboardEvent, turnId: string, from: Tab): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  const to = TABS[(TABS.indexOf(from) + step + TABS.length) % TABS.length];
  if (step === 0 || to === undefined) return;
  event.preventDefault();
  goTo(turnId, to);
  const tabs = event.currentTarget instanceof HTMLElement ? event.currentTarget.parentElement : null;
  requestAnimationFrame(() => tabs?.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
}

/** Follows the turn that the page was made for. */
function useEvents(turnId: string): EventStore {
  const [store] = useState(() => followEvents(turnId));
  useEffect(() => () => store.close(), [store]);
  return store;
}

const PERIOD_MS = 2_000;

interface KnownTurn {
  readonly snapshot: Tolerant<TurnSnapshot> | undefined;
  readonly fault: string | undefined;
}

/** The events tell of the end before the list, which is read every two seconds. */
function withEnd(snapshot: Tolerant<TurnSnapshot> | undefined, store: EventStore): Tolerant<TurnSnapshot> | undefined {
  void store.version.value;
  const last = store.events.at(-1)?.known;
  if (snapshot === undefined || last?.type !== "turn.ended") return snapshot;
  return { ...snapshot, status: last.data.status, ended_at: snapshot.ended_at ?? last.at };
}

/** The turn as the list has it, or as turnd says where it is not listed. */
function useTurn(turnId: string, store: EventStore): KnownTurn {
  const listed = useComputed(() => turns.value.find((turn) => turn.turn_id === turnId)).value;
  const [asked, setAsked] = useState<KnownTurn>({ snapshot: undefined, fault: undefined });
  const state = store.reading.value.state;
  const renewed = renewals.value;
  const snapshot = withEnd(listed ?? asked.snapshot, store);
  useEffect(() => {
    const controller = new AbortController();
    turnd.turn(turnId, { signal: controller.signal }).then(
      (found) => setAsked({ snapshot: found, fault: undefined }),
      (error: unknown) => {
        if (controller.signal.aborted || login.value === "expired") return;
        // What is known of a turn that was deleted meanwhile stays.
        setAsked((before) => ({ ...before, fault: error instanceof Error ? error.message : String(error) }));
      },
    );
    return () => controller.abort();
  }, [turnId, state, renewed]);
  // What the list does not have, since it is older or of another status, is asked for as often as the list.
  const isUnlisted = listed === undefined && asked.snapshot !== undefined && asked.snapshot.ended_at === undefined;
  useEffect(() => {
    if (!isUnlisted) return undefined;
    const timer = setInterval(() => {
      if (!isPageSeen.value || login.value === "expired") return;
      turnd.turn(turnId).then(
        (found) => setAsked({ snapshot: found, fault: undefined }),
        // The events say what is wrong.
        () => undefined,
      );
    }, PERIOD_MS);
    return () => clearInterval(timer);
  }, [turnId, isUnlisted]);
  // The list shows at once what the events show.
  useEffect(() => {
    if (state === "ended") void refreshList();
  }, [state]);
  return { snapshot, fault: snapshot === undefined ? asked.fault : undefined };
}
