import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { percentile, type Figure } from "./figures.ts";
import { withDaemon, type Stage } from "./stage.ts";

const STARTS = 5;

/** Milliseconds from the start of the process to a healthy answer, beside a Node that does nothing. */
export async function benchStart(directory: string): Promise<Figure> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    const bareAt = performance.now();
    await execa(process.execPath, ["-e", "0"]);
    theirs.push(performance.now() - bareAt);
    const own = join(directory, `start-${start}`);
    await mkdir(own);
    const startedAt = performance.now();
    await withDaemon(own, async ({ turnd }) => {
      const { status } = await turnd.request("GET", "/v1/health");
      if (status !== 200) throw new Error(`health answered ${status}`);
      ours.push(performance.now() - startedAt);
    });
  }
  const [startMs, bareMs] = [percentile(ours, 0.5), percentile(theirs, 0.5)];
  return {
    measure: `start to healthy, p50 of ${STARTS}`,
    turnd: `${startMs.toFixed(0)} ms`,
    yardstick: `${bareMs.toFixed(0)} ms node -e 0`,
    ratio: startMs / bareMs,
  };
}

/** Resident memory of a daemon that has run nothing yet, beside a Node that waits. */
export async function benchIdleMemory({ turnd }: Stage): Promise<Figure> {
  const bare = execa(process.execPath, ["-e", "setInterval(() => {}, 1e6); console.log('ready')"], { reject: false });
  try {
    await once(bare.stdout, "data");
    const [ours, theirs] = [residentMiB(turnd.pid), residentMiB(bare.pid ?? 0)];
    return {
      measure: "resident memory, idle",
      turnd: `${ours.toFixed(0)} MiB`,
      yardstick: `${theirs.toFixed(0)} MiB idle node`,
      ratio: ours / theirs,
    };
  } finally {
    bare.kill("SIGKILL");
    await bare;
  }
}

function residentMiB(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
