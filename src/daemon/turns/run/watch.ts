import type { RequestSign } from "../../executors/contract/translator.ts";
import type { WatchReason } from "../lifecycle/inputs.ts";
import type { OutputBatch } from "../../process/output/follow.ts";

export interface WatchOptions {
  /** Milliseconds; 0 switches one off. */
  readonly startTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** What is left of the whole turn's time; negative when it is over already, undefined when it has no bound. */
  readonly turnRemainingMs: number | undefined;
  /** Called once. */
  readonly onFire: (reason: WatchReason) => void;
}

/** Three clocks over one process. */
export interface Watch {
  /** Takes note of what was read. */
  observe(output: Pick<OutputBatch, "stdoutBytes"> & { readonly request: RequestSign | undefined }): void;
  /** Stops the clocks. Safe to call twice. */
  stop(): void;
}

/**
 * Starts the watchdogs of a process: no first byte on stdout, no new byte on stdout, and the whole turn.
 *
 * What a CLI logs before it works proves no start: one that hangs has logged that too. But while it waits for the model's first
 * answer, which CLI A's log shows, the provider is what is slow. An answer without a byte on stdout is none to anyone. Each is separate; the first to fire is the one that is reported.
 */
export function startWatch(options: WatchOptions): Watch {
  let stdoutBytes = 0;
  let isStopped = false;
  const timers = new Map<WatchReason, NodeJS.Timeout>();

  function stop(): void {
    isStopped = true;
    for (const timer of timers.values()) clearTimeout(timer);
    timers.clear();
  }
  function fire(reason: WatchReason): void {
    stop();
    options.onFire(reason);
  }
  function arm(reason: WatchReason, delayMs: number): void {
    timers.set(reason, setTimeout(fire, Math.max(0, delayMs), reason));
  }

  function armStart(): void {
    disarm("start_timeout");
    if (options.startTimeoutMs > 0) arm("start_timeout", options.startTimeoutMs);
  }
  function disarm(reason: WatchReason): void {
    clearTimeout(timers.get(reason));
    timers.delete(reason);
  }

  armStart();
  if (options.idleTimeoutMs > 0) arm("idle_timeout", options.idleTimeoutMs);
  if (options.turnRemainingMs !== undefined) arm("turn_timeout", options.turnRemainingMs);

  return {
    observe(output) {
      if (isStopped) return;
      if (output.request === "asked" || output.stdoutBytes > 0) disarm("start_timeout");
      else if (output.request === "answered") armStart();
      if (output.stdoutBytes > stdoutBytes) {
        stdoutBytes = output.stdoutBytes;
        timers.get("idle_timeout")?.refresh();
      }
    },
    stop,
  };
}
