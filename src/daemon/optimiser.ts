import { setFlagsFromString } from "node:v8";

/**
 * Modules of Node that a start needs. Node has their compiled code within itself, and V8 takes it only under the flags it
 * was made with, so they are loaded before any flag changes: 10 ms of a start.
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
  "sqlite",
  "dns",
  "cluster",
];

/**
 * Keeps V8's optimising compilers out of this process until there is work for them.
 *
 * A start runs everything once, and yet V8 finds some seven functions hot enough. To compile them reads 5 MiB of Node's
 * program into memory, which a turnd that waits never needs again, and leaves some 3 MiB of code and garbage.
 *
 * To be called before the compile cache is used, for the same reason as above: what is compiled under these flags is
 * taken under these flags.
 * @returns lets them work from now on, as V8 does by itself; costs nothing when called again
 * @see test/commands/optimiser.test.ts, which fails when a later V8 no longer knows the flags
 */
export function holdOptimiser(): () => void {
  for (const name of BEFORE) process.getBuiltinModule(`node:${name}`);
  let isHeld = true;
  hold();
  // Node writes what it has compiled after this, and V8 marks it with the flags of that moment.
  process.on("exit", hold);
  return () => {
    if (!isHeld) return;
    isHeld = false;
    setFlagsFromString("--turbofan");
    setFlagsFromString("--sparkplug");
  };
}

function hold(): void {
  setFlagsFromString("--no-turbofan");
  setFlagsFromString("--no-sparkplug");
}
