import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { RawRecord } from "../../protocol/raw-records.ts";
import type { ShownEvent } from "../events/shown-event.ts";
import { renewals } from "../connection.ts";
import { keepPlace } from "../route.ts";
import { formatBytes, formatCount } from "../text/format.ts";
import { pretty, toJsonText } from "../text/json-text.ts";
import { Code, Plain } from "../text/text.tsx";
import type { EventStore } from "./event-store.ts";
import { loadRecords, type LoadedRecords } from "./load-records.ts";
import { VirtualList } from "./virtual-list.tsx";

export interface RawViewProps {
  readonly turnId: string;
  readonly store: EventStore;
  /** A line to be shown first. */
  readonly line: number | undefined;
}

/** Every line that the CLI has printed, and beside it the events that turnd made of it. */
export function RawView({ turnId, store, line }: RawViewProps) {
  const source = useSignal<"stdout" | "stderr">("stdout");
  const search = useSignal("");
  const focused = useSignal<number | undefined>(undefined);
  const goTo = useSignal<{ readonly index: number } | undefined>(undefined);
  const loaded = useRecords(turnId, source.value, line, store);
  const { records, hasMore, fault } = loaded.state.value;
  const byLine = useComputed(() => {
    void store.version.value;
    const ofSource = store.events.filter((event) => (event.native?.source ?? "stdout") === source.value);
    return Map.groupBy(ofSource, (event) => event.native?.line ?? 0);
  }).value;
  const words = search.value.toLowerCase();
  const shown = words === "" ? records : records.filter((record) => record.text.toLowerCase().includes(words));
  const wanted = shown.findIndex((record) => record.line === line);
  useEffect(() => {
    if (wanted !== -1) goTo.value = { index: wanted };
  }, [wanted, goTo]);

  return (
    <div class="events">
      <div class="event-tools">
        <select
          aria-label="File"
          value={source.value}
          onChange={({ currentTarget }) => (source.value = currentTarget.value === "stderr" ? "stderr" : "stdout")}
        >
          <option value="stdout">stdout.jsonl</option>
          <option value="stderr">stderr.log</option>
        </select>
        <input
          type="search"
          aria-label="Search raw records"
          placeholder="Search raw records"
          value={search.value}
          onInput={({ currentTarget }) => {
            search.value = currentTarget.value;
            if (currentTarget.value !== "") loaded.loadAll();
          }}
        />
        <span class="muted" role="status">
          {formatCount(shown.length)} {shown.length === 1 ? "line" : "lines"}
          {hasMore ? " so far" : ""}
        </span>
      </div>
      {fault !== undefined && (
        <p role="alert" class="fault">
          {fault}
        </p>
      )}
      {shown.length === 0 && <p class="muted empty">Nothing here.</p>}
      <VirtualList
        key={`${turnId} ${source.value}`}
        count={shown.length}
        estimate={120}
        label="Raw records and their events"
        isFollowing={false}
        goTo={goTo.value}
        keyOf={(index) => shown[index]?.line ?? index}
        onKeyDown={(event) => {
          const step = STEPS[event.key];
          if (step === undefined || event.target instanceof HTMLInputElement) return;
          event.preventDefault();
          const to = Math.max(0, Math.min(shown.length - 1, (focused.value ?? Math.max(0, wanted)) + step));
          focused.value = to;
          goTo.value = { index: to };
        }}
        onAtEnd={(isAtEnd) => {
          if (isAtEnd) loaded.loadMore();
        }}
        render={(index) => {
          const record = shown[index];
          if (record === undefined) return null;
          return (
            <RecordRow
              record={record}
              events={byLine.get(record.line) ?? []}
              isMarked={record.line === line}
              isStop={index === (focused.value ?? Math.max(0, wanted))}
              onFocus={() => {
                focused.value = index;
                if (source.value === "stdout") keepPlace(turnId, "raw", record.line);
              }}
              place={{ index, count: shown.length }}
            />
          );
        }}
      />
    </div>
  );
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  j: 1,
  ArrowUp: -1,
  k: -1,
  PageDown: 10,
  PageUp: -10,
  Home: -Infinity,
  End: Infinity,
};

interface RecordRowProps {
  readonly record: RawRecord;
  readonly events: readonly ShownEvent[];
  readonly isMarked: boolean;
  /** Whether the Tab key stops here. */
  readonly isStop: boolean;
  onFocus(): void;
  readonly place: { readonly index: number; readonly count: number };
}

function RecordRow({ record, events, isMarked, isStop, place, onFocus }: RecordRowProps) {
  const { line, text, bytes } = record;
  return (
    <article
      class={isMarked ? "record marked" : "record"}
      tabIndex={isStop ? 0 : -1}
      aria-label={`Line ${line}`}
      onFocusIn={onFocus}
      aria-posinset={place.index + 1}
      aria-setsize={place.count}
    >
      <span class="line-number">{line}</span>
      <div>
        <Code text={pretty(text)} />
        {bytes !== undefined && <p class="muted">Cut: the whole line has {formatBytes(bytes)}.</p>}
      </div>
      <div>
        {events.length === 0 && <p class="muted">no event</p>}
        {events.map((event) => (
          <details key={event.seq} class="mapped" open>
            <summary>
              <span class="label">
                <Plain text={event.type} />
              </span>{" "}
              <span class="muted">#{event.seq}</span>
            </summary>
            <Code text={toJsonText(event.whole)} />
          </details>
        ))}
      </div>
    </article>
  );
}

function useRecords(
  turnId: string,
  source: "stdout" | "stderr",
  line: number | undefined,
  store: EventStore,
): LoadedRecords {
  const [loaded, setLoaded] = useState(() => ({ source, records: loadRecords(turnId, source, line) }));
  useEffect(() => {
    if (loaded.source !== source) setLoaded({ source, records: loadRecords(turnId, source, undefined) });
  }, [turnId, source, loaded]);
  useEffect(() => () => loaded.records.close(), [loaded]);
  // What a running turn prints next comes with its events.
  const version = store.version.value;
  useEffect(() => {
    if (!loaded.records.state.value.hasMore) loaded.records.loadMore();
  }, [version, loaded]);
  const renewed = renewals.value;
  useEffect(() => {
    if (loaded.records.state.value.fault !== undefined) loaded.records.loadMore();
  }, [renewed, loaded]);
  return loaded.records;
}
