import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import type { Turn } from "./turn.ts";
import type { TurnFile } from "./turn-file.ts";

/** When a turn starts: by the clock, and by one that nobody sets, which tells a later daemon how long it has run. */
export function startedNow(now: Date): Pick<TurnFile, "started_boot"> & Required<Pick<TurnFile, "started_at">> {
  const boot = bootId();
  const started = { started_at: now.toISOString() };
  return boot === undefined ? started : { ...started, started_boot: { id: boot, ms: uptimeMs() } };
}

/**
 * Milliseconds that a turn has run, also while no daemon did, by clocks that nobody sets.
 *
 * Undefined where it has not started, where the machine has been started since, and for a turn of an earlier turnd: then only
 * the clock tells.
 */
export function ranForMs({ file, preparedMs }: Pick<Turn, "file" | "preparedMs">): number | undefined {
  if (preparedMs !== undefined) return performance.now() - preparedMs;
  const { started_boot: started } = file;
  if (started === undefined || started.id !== bootId()) return undefined;
  const ms = uptimeMs() - started.ms;
  return ms < 0 ? undefined : ms;
}

/** How long the machine has been up, suspended or not. @see clock_gettime(2), CLOCK_BOOTTIME */
function uptimeMs(): number {
  return Math.round(uptime() * 1000);
}

/** @see random(4) */
function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    // Such a system has only the clock.
    return undefined;
  }
}
