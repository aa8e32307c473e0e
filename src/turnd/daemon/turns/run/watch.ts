import type { RequestSign } from "../../executors/contract/translator.ts";
import type { WatchReason } from "../lifecycle/inputs.ts";
import type { OutputBatch } from "../../process/output/follow.ts";

export interface WatchOptions {
  /** Milliseconds; 0 switches one off. */
  readonly startTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly exitTimeoutMs: number;
  /** What is left of the whole turn's time; negative when it is over already, undefined when it has no bound. */
  readonly turnRemainingMs: number | undefined;
  /** Whether a tool is at work: silence is its own then. Asked only once it has been silent for long enough. */
  readonly isToolAtWork: () => boolean;
  /** Called once. */
  readonly onFire: (reason: WatchReason) => void;
}

/** What was read, and what it shows. */
export interface WatchedOutput extends Pick<OutputBatch, "stdoutBytes"> {
  readonly request: RequestSign | undefined;
  /** All that the turn needs was printed: nothing is missing but the exit. */
  readonly isComplete: boolean;
  /** A tool has begun and not ended. */
  readonly hasOpenTool: boolean;
}

/** Four clocks over one process. */
export interface Watch {
  /** Takes note of what was read. */
  observe(output: WatchedOutput): void;
  /** Stops the clocks. Safe to call twice. */
  stop(): void;
}

/** How often a silent process is asked whether its tool still works. */
const ASK_MS = 1_000;

/**
 * Starts the watchdogs of a process: no first byte on stdout; no new byte on stdout, nor a tool at work; no exit after the
 * record that completes the turn; the whole turn. Each is separate; the first to fire is the one that is reported.
 *
 * How long a CLI takes to start says nothing of how long it may be silent: the idle clock starts with its first sign.
 * What a CLI logs before it works proves no start: one that hangs has logged that too. But while it waits for the model's first
 * answer, which CLI A's log shows, the provider is what is slow. An answer without a byte on stdout is none to anyone.
 */
export function startWatch(options: WatchOptions): Watch {
  const { startTimeoutMs, idleTimeoutMs, exitTimeoutMs } = options;
  let stdoutBytes = 0;
  let isStopped = false;
  let isStandingStill = false;
  let hasOpenTool = false;
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
  function disarm(reason: WatchReason): void {
    clearTimeout(timers.get(reason));
    timers.delete(reason);
  }
  function arm(reason: WatchReason, delayMs: number, expire: (reason: WatchReason) => void = fire): void {
    disarm(reason);
    timers.set(reason, setTimeout(expire, Math.max(0, delayMs), reason));
  }
  function armStart(): void {
    if (startTimeoutMs > 0) arm("start_timeout", startTimeoutMs);
  }
  /** Once the tool has ended the CLI has all of its time again. */
  function expireIdle(): void {
    const wasStandingStill = isStandingStill;
    isStandingStill = options.isToolAtWork();
    if (isStandingStill) arm("idle_timeout", Math.min(ASK_MS, idleTimeoutMs), expireIdle);
    else if (wasStandingStill) arm("idle_timeout", idleTimeoutMs, expireIdle);
    else fire("idle_timeout");
  }
  function restartIdle(): void {
    if (idleTimeoutMs === 0) return;
    const timer = isStandingStill ? undefined : timers.get("idle_timeout");
    if (timer === undefined) arm("idle_timeout", idleTimeoutMs, expireIdle);
    else timer.refresh();
    isStandingStill = false;
  }

  armStart();
  if (startTimeoutMs === 0) restartIdle();
  if (options.turnRemainingMs !== undefined) arm("turn_timeout", options.turnRemainingMs);

  return {
    observe(output) {
      if (isStopped) return;
      const isStart = output.request === "asked" && !timers.has("idle_timeout");
      if (output.request === "asked" || output.stdoutBytes > 0) disarm("start_timeout");
      else if (output.request === "answered") armStart();
      // What a tool's end lets the CLI do next has all of its time.
      if (output.stdoutBytes > stdoutBytes || hasOpenTool || isStart) restartIdle();
      stdoutBytes = output.stdoutBytes;
      ({ hasOpenTool } = output);
      if (!output.isComplete) disarm("exit_timeout");
      else if (exitTimeoutMs > 0 && !timers.has("exit_timeout")) arm("exit_timeout", exitTimeoutMs);
    },
    stop,
  };
}
