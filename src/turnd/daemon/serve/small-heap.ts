import { setFlagsFromString } from "node:v8";

/**
 * Keeps this process small, for a command that reads much and keeps little. To be called before the command is loaded.
 *
 * Otherwise garbage grows to four times the live memory, and the young generation to 48 MiB, before V8 frees them: a
 * replay would take twice the memory it needs. V8 reads both limits at each collection, so they can be set once the
 * command is known; as arguments of node they would apply to the daemon too. Costs some 6 % of a replay's time. When
 * run from source, what strips types is WebAssembly, whose optimising compiler alone would take 20 MB.
 * @see test/turnd/daemon/replay/flat.test.ts, which fails when a later V8 no longer knows them
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=30");
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-wasm-tier-up");
}
