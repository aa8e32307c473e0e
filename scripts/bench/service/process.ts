import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openEngine } from "../../../src/service/storage/engine.ts";
import type { Figure } from "../figures.ts";
import { withService } from "./service-stage.ts";

const IDLE_MS = 10_000;
/** Of /proc/<pid>/stat; Linux has had 100 on every machine for decades. @see sysconf(3), _SC_CLK_TCK */
const TICKS_PER_SECOND = 100;

/** A second start on the same directory until it listens, beside opening that engine alone; and the CPU time at rest. */
export async function benchProcess(directory: string): Promise<Figure[]> {
  return withService("pglite", directory, async ({ stage }) => {
    const { service } = stage;
    const startedAt = performance.now();
    await service.killAndRestart(0);
    const startMs = performance.now() - startedAt;
    const own = join(directory, "alone");
    mkdirSync(own);
    const open = async (): Promise<number> => {
      const openedAt = performance.now();
      const engine = await openEngine({ kind: "pglite", directory: own }, { onConnectionLost: () => undefined });
      const elapsed = performance.now() - openedAt;
      await engine.close();
      return elapsed;
    };
    await open();
    const openMs = await open();
    await delay(IDLE_MS);
    const before = cpuTicks(service.pid());
    await delay(IDLE_MS);
    const share = (cpuTicks(service.pid()) - before) / TICKS_PER_SECOND / (IDLE_MS / 1000);
    return [
      {
        measure: "pglite: kill -9 to listening again",
        turnd: `${startMs.toFixed(0)} ms`,
        yardstick: `${openMs.toFixed(0)} ms opening PGlite alone`,
        ratio: startMs / openMs,
        target: "<= 1.5",
      },
      {
        measure: "pglite: the service at rest, CPU time",
        turnd: `${(share * 100).toFixed(2)} %`,
        yardstick: "1 % of a core",
        ratio: share * 100,
        target: "<= 1",
      },
    ];
  });
}

function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
