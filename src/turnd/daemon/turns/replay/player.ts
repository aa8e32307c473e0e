import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ReplaySpeed, TimelineEntry } from "../../../protocol/index.ts";
import { fromEntries, inRuns, TIMELINE_FILE } from "../../replay/timeline.ts";
import { OUTPUT, RECORDED } from "../store/output-files.ts";
import { openCopy } from "./growing-copy.ts";

export interface PlayerOptions {
  /** Of the replay's turn; what an earlier daemon has played of it is there already. */
  readonly directory: string;
  readonly speed: ReplaySpeed;
  /** Ends the playing at once. */
  readonly stopped: AbortSignal;
}

/**
 * Plays a recording's timeline: hands each entry on when its time has come, the lines it speaks of being in the files.
 *
 * At `max` the files are complete. Otherwise a line is appended when its time of arrival, divided by the speed, has come; what
 * an earlier daemon has appended is handed on at once, and the clock goes on from there.
 */
export async function* playTimeline(options: PlayerOptions): AsyncGenerator<TimelineEntry> {
  const path = join(options.directory, TIMELINE_FILE);
  for await (const entry of options.speed === "max" ? inRuns(fromEntries(path)) : pace(path, options)) {
    if (options.stopped.aborted) return;
    yield entry;
  }
}

async function* pace(path: string, { directory, speed, stopped }: PlayerOptions): AsyncGenerator<TimelineEntry> {
  const files = {
    stdout: await openCopy(join(directory, RECORDED.stdout), join(directory, OUTPUT.stdout)),
    stderr: await openCopy(join(directory, RECORDED.stderr), join(directory, OUTPUT.stderr)),
  };
  const clock = createClock(speed === "max" ? Infinity : speed, stopped);
  try {
    for await (const entry of fromEntries(path)) {
      const at = Date.parse(entry.at);
      const file = entry.type === "line" ? files[entry.source ?? "stdout"] : undefined;
      if (entry.type === "line" && file?.hasLine(entry.line) === false) {
        await clock.waitFor(at);
        if (stopped.aborted) return;
        await file.copyTo(entry.line);
      } else if (entry.type === "ended") {
        await clock.waitFor(at);
      } else if (entry.type === "line") {
        clock.skipTo(at);
      } else if (entry.type === "started") {
        clock.startAt(at);
      }
      yield entry;
    }
    if (stopped.aborted) return;
    await files.stdout.copyTo(Infinity);
    await files.stderr.copyTo(Infinity);
  } finally {
    await Promise.all([files.stdout.close(), files.stderr.close()]);
  }
}

interface Clock {
  /** It is this time of the recording now, unless the clock runs already. */
  startAt(recordedMs: number): void;
  /** This time of the recording was reached before. */
  skipTo(recordedMs: number): void;
  /** Resolves when this time of the recording has come, or the playing is stopped. */
  waitFor(recordedMs: number): Promise<void>;
}

/** What a timer can wait for at once is bounded: past some 24 days Node takes it for a millisecond. */
const MAX_WAIT_MS = 86_400_000;

/**
 * Recorded clocks may have been set back; this one never is, so that no playing takes longer than `spanMs` says.
 *
 * @param speed - how many milliseconds of the recording pass in one of ours
 */
function createClock(speed: number, stopped: AbortSignal): Clock {
  let start: { readonly recordedMs: number; readonly ownMs: number } | undefined;

  function set(recordedMs: number): { recordedMs: number; ownMs: number } {
    return (start = { recordedMs, ownMs: performance.now() });
  }
  return {
    startAt(recordedMs) {
      if (start === undefined) set(recordedMs);
    },
    skipTo(recordedMs) {
      set(Math.max(recordedMs, start?.recordedMs ?? recordedMs));
    },
    async waitFor(recordedMs) {
      const from = start ?? set(recordedMs);
      const dueMs = from.ownMs + (recordedMs - from.recordedMs) / speed;
      // Timers may fire a little early.
      for (let left = dueMs - performance.now(); left > 0 && !stopped.aborted; left = dueMs - performance.now()) {
        const waitMs = Math.min(Math.ceil(left), MAX_WAIT_MS);
        await delay(waitMs, undefined, { signal: stopped }).catch(ignoreAbort);
      }
    },
  };
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === "AbortError")) throw error;
}
