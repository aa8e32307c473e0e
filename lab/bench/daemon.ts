import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { percentile, type Figure } from "./figures.ts";
import { bundleTurnd, withDaemon, type Stage } from "./stage.ts";

const STARTS = 11;
/** V8 gives back what the start took within half a minute: 10 MiB. */
const IDLE_MS = 60_000;

/** Milliseconds from the start of the process to a healthy answer, beside a Node that does nothing: from source, and as the image runs it. */
export async function benchStart(directory: string): Promise<Figure[]> {
  const bundle = await bundleTurnd(directory);
  // Leaves its compiled code, as the build of the image does.
  await timeStart(directory, "first", bundle);
  const [bare, source, bundled]: [number[], number[], number[]] = [[], [], []];
  for (let start = 0; start < STARTS; start += 1) {
    const bareAt = performance.now();
    await execa(process.execPath, ["-e", "0"]);
    bare.push(performance.now() - bareAt);
    source.push(await timeStart(directory, `source-${start}`, undefined));
    bundled.push(await timeStart(directory, `bundle-${start}`, bundle));
  }
  const bareMs = percentile(bare, 0.5);
  const figure = (name: string, times: readonly number[], target?: string): Figure => ({
    measure: `start to healthy, ${name}, p50 of ${STARTS}`,
    turnd: `${percentile(times, 0.5).toFixed(0)} ms`,
    yardstick: `${bareMs.toFixed(0)} ms node -e 0`,
    ratio: percentile(times, 0.5) / bareMs,
    ...(target === undefined ? {} : { target }),
  });
  return [figure("from source", source), figure("bundle", bundled, "<= 260 ms")];
}

async function timeStart(directory: string, name: string, program: string | undefined): Promise<number> {
  const own = join(directory, name);
  await mkdir(own);
  const startedAt = performance.now();
  return withDaemon(
    own,
    async ({ turnd }) => {
      const { status } = await turnd.request("GET", "/v1/health");
      if (status !== 200) throw new Error(`health answered ${status}`);
      return performance.now() - startedAt;
    },
    program,
  );
}

/** Resident memory of a daemon that has run nothing yet, after a minute, beside a Node that waits: from source, and as the image runs it. */
export async function benchIdleMemory(directory: string): Promise<Figure[]> {
  const bundle = await bundleTurnd(directory);
  const bare = execa(process.execPath, ["-e", "setInterval(() => {}, 1e6); console.log('ready')"], { reject: false });
  try {
    await once(bare.stdout, "data");
    const measure = async ({ turnd }: Stage): Promise<number> => {
      await delay(IDLE_MS);
      return residentMiB(turnd.pid);
    };
    const place = async (name: string): Promise<string> => {
      const path = join(directory, name);
      await mkdir(path);
      return path;
    };
    const theirs = residentMiB(bare.pid ?? 0);
    const figure = (name: string, ours: number, target?: string): Figure => ({
      measure: `resident memory, idle, ${name}`,
      turnd: `${ours.toFixed(0)} MiB`,
      yardstick: `${theirs.toFixed(0)} MiB idle node`,
      ratio: ours / theirs,
      ...(target === undefined ? {} : { target }),
    });
    await withDaemon(await place("first"), async () => undefined, bundle);
    const [ofSource, ofBundle] = await Promise.all([
      withDaemon(await place("source"), measure),
      withDaemon(await place("second"), measure, bundle),
    ]);
    return [figure("from source", ofSource), figure("bundle", ofBundle, "<= 90 MiB")];
  } finally {
    bare.kill("SIGKILL");
    await bare;
  }
}

/** Of a process, now. */
export function residentMiB(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
