import { stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { OutputBatch } from "../../process/output/follow.ts";
import { keepLines } from "../store/output-files.ts";

export interface OutputBoundOptions {
  /** Of stdout, and of stderr. */
  readonly maxBytes: number;
  /** How large the turn's log is, as far as what is read now is added to it. */
  readonly logBytes: () => number;
  /** Called each time that more than allowed is found. */
  readonly onBeyond: () => void;
}

/** How much of what a process prints becomes events. */
export interface OutputBound {
  /** Aborts when nothing more is to be read. */
  readonly abandoned: AbortSignal;
  /** Called with all that is read, before it becomes events. */
  observe(batch: OutputBatch): void;
  /** Whether the log has become too large for the rest. */
  isLogFull(): boolean;
  /** What has not been read stays unread. */
  abandon(): void;
  /**
   * Cuts off what was not read, once nothing writes there any more: what is left is what the events are made of, so that a
   * restart, an export and a replay read the same and end as soon.
   */
  cut(directory: string): Promise<void>;
}

/**
 * An event is larger than its line: of a real CLI's output at most about twice, of a flood of `{}` ninety times. A log beyond
 * this would fill the disk, and take hours, far below the limit of the output itself.
 */
const LOG_BYTES_PER_OUTPUT_BYTE = 4;

/** Bounds the two files of a turn's output, and the log that is made of them. Law: every wait is bounded. */
export function boundOutput({ maxBytes, logBytes, onBeyond }: OutputBoundOptions): OutputBound {
  const abandoning = new AbortController();
  const taken = { stdout: 0, stderr: 0 };
  let isFull = false;
  return {
    abandoned: abandoning.signal,
    observe({ lines, stdoutBytes, stderrBytes }) {
      for (const { source, number } of lines) taken[source] = number;
      isFull ||= logBytes() > maxBytes * LOG_BYTES_PER_OUTPUT_BYTE;
      if (isFull) abandoning.abort();
      if (isFull || Math.max(stdoutBytes, stderrBytes) > maxBytes) onBeyond();
    },
    isLogFull: () => isFull,
    abandon: () => abandoning.abort(),
    async cut(directory) {
      for (const [source, name] of [
        ["stdout", "stdout.jsonl"],
        ["stderr", "stderr.log"],
      ] as const) {
        const path = join(directory, name);
        // A tool can make a file of a terabyte of its own turn's output that takes no room on the disk.
        if ((await stat(path)).size > maxBytes) await truncate(path, maxBytes);
        if (abandoning.signal.aborted) await keepLines(path, taken[source]);
      }
    },
  };
}
