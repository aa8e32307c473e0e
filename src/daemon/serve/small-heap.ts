import { setFlagsFromString } from "node:v8";

/**
 * Keeps this process small, for a command that reads much and keeps nothing of it. To be called before it is loaded.
 *
 * Else garbage comes to four times of what lives, and the nursery to 48 MiB, before V8 lets go of them: a replay would
 * take twice the memory it needs. V8 asks for both limits at each collection, so they can be set once the command is
 * known; as arguments of node they would bind the daemon too. Costs some 6 % of a replay's time. From source, what
 * strips types is WebAssembly, whose optimising compiler alone would take 20 MB.
 * @see test/replay/flat.test.ts, which fails when a later V8 knows them no more
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=30");
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-wasm-tier-up");
}
