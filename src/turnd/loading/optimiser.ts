import { setFlagsFromString } from "node:v8";

/**
 * Modules of Node that a start needs. Node has their compiled code within itself, and V8 takes it only under the flags it
 * was made with, so they are loaded before any flag changes: 10 ms of a start. Not `sqlite`, which is hardly JavaScript and
 * warns where it is loaded (`state-index/sqlite.ts`).
 */
const BEFORE = [
  "module",
  "http",
  "stream/promises",
  "crypto",
  "fs/promises",
  "child_process",
  "worker_threads",
  "timers/promises",
  "perf_hooks",
  "dns",
  "cluster",
  "os",
  "tty",
  "process",
];

/** V8's flags until there is work, and from then on. */
export const HELD = ["--no-turbofan", "--no-sparkplug"] as const;
export const LET_GO = ["--turbofan", "--sparkplug"] as const;

/**
 * V8 waits for 3000 calls of a function before it optimises it, and few turns have so many lines.
 * What is optimised is faster and touches less memory, so a line that comes alone finds more of it in the caches.
 */
export const EARLIER = "--invocation-count-for-turbofan=600";

/** V8's optimising compilers. */
export interface Optimiser {
  /** Lets them work from now on; costs nothing when called again. */
  letGo(): void;
  /** Runs it under the flags of a start: what V8 writes of its code then is taken by a later start. */
  asAtStart<T>(run: () => T): T;
}

/**
 * Keeps V8's optimising compilers out of this process until there is work for them, and lets them begin earlier then.
 *
 * A start runs everything once, and yet V8 finds some seven functions hot enough. To compile them reads 5 MiB of Node's
 * program into memory, which a turnd that waits never needs again, and leaves some 3 MiB of code and garbage.
 *
 * To be called before compiled code is taken, for the same reason as above.
 * @see test/turnd/loading/optimiser.test.ts, which fails when a later V8 no longer knows the flags
 */
export function holdOptimiser(): Optimiser {
  for (const name of BEFORE) process.getBuiltinModule(`node:${name}`);
  let isHeld = true;
  setFlagsFromString(EARLIER);
  set(HELD);
  return {
    letGo() {
      if (!isHeld) return;
      isHeld = false;
      set(LET_GO);
    },
    asAtStart(run) {
      set(HELD);
      try {
        return run();
      } finally {
        if (!isHeld) set(LET_GO);
      }
    },
  };
}

function set(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}
