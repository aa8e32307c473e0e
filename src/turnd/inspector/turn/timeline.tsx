import type { Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { turnd } from "../connection.ts";
import { formatDuration } from "../text/format.ts";
import type { EventStore } from "./event-store.ts";
import { placesInTime, seqAt, type Moment } from "./recorded-time.ts";

export interface TimelineProps {
  readonly turn: Tolerant<TurnSnapshot>;
  readonly store: EventStore;
  /** Set to show the turn as it was at a moment; undefined: as it is now. */
  readonly upToSeq: Signal<number | undefined>;
}

const SPEEDS = [1, 4, 16, 64] as const;
const FRAME_MS = 50;

/** A slider over the time of an ended turn, and what plays it. A replay has the time of its recording. */
export function Timeline({ turn, store, upToSeq }: TimelineProps) {
  const moments = useMoments(turn, store);
  const [atMs, setAt] = useState<number | undefined>(undefined);
  const [speed, setSpeed] = useState<number>(4);
  const [isPlaying, setPlaying] = useState(false);
  const lengthMs = moments.at(-1)?.ms ?? 0;
  const place = useRef(0);
  place.current = atMs ?? lengthMs;

  function show(ms: number | undefined): void {
    setAt(ms);
    upToSeq.value = ms === undefined || ms >= lengthMs ? undefined : seqAt(moments, ms);
  }

  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(() => {
      const next = place.current + FRAME_MS * speed;
      show(next >= lengthMs ? undefined : next);
      if (next >= lengthMs) setPlaying(false);
    }, FRAME_MS);
    return () => clearInterval(timer);
  }, [isPlaying, speed, lengthMs]);
  useEffect(() => () => void (upToSeq.value = undefined), [upToSeq]);

  if (moments.length < 2) return null;
  return (
    <div class="timeline">
      <button
        type="button"
        class="second"
        aria-label={isPlaying ? "Pause" : "Play"}
        onClick={() => {
          if (!isPlaying && place.current >= lengthMs) show(0);
          setPlaying(!isPlaying);
        }}
      >
        {isPlaying ? "❚❚" : "►"}
      </button>
      <input
        type="range"
        aria-label="Time of the turn"
        aria-valuetext={`${formatDuration(place.current)} of ${formatDuration(lengthMs)}`}
        min={0}
        max={lengthMs}
        step={Math.max(1, Math.round(lengthMs / 1_000))}
        value={place.current}
        onInput={({ currentTarget }) => {
          setPlaying(false);
          show(Number(currentTarget.value));
        }}
      />
      <output>
        {formatDuration(place.current)} / {formatDuration(lengthMs)}
      </output>
      <select aria-label="Speed" value={speed} onChange={({ currentTarget }) => setSpeed(Number(currentTarget.value))}>
        {SPEEDS.map((factor) => (
          <option key={factor} value={factor}>
            {factor}×
          </option>
        ))}
      </select>
    </div>
  );
}

/** When each event happened, once the turn has ended. */
function useMoments(turn: Tolerant<TurnSnapshot>, store: EventStore): readonly Moment[] {
  const [moments, setMoments] = useState<readonly Moment[]>([]);
  const state = store.reading.value.state;
  useEffect(() => {
    if (state !== "ended") return undefined;
    const controller = new AbortController();
    setMoments(placesInTime(store.events, undefined));
    if (turn.executor === "replay") {
      turnd.recording(turn.turn_id, { signal: controller.signal }).then(
        ({ timeline }) => {
          const recorded = placesInTime(store.events, timeline);
          // A recording without times has those of its replay.
          return (recorded.at(-1)?.ms ?? 0) > 0 ? setMoments(recorded) : undefined;
        },
        // The times of the replay itself stay.
        () => undefined,
      );
    }
    return () => controller.abort();
  }, [turn.turn_id, turn.executor, state, store]);
  return moments;
}
