import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { residentMiB } from "./daemon.ts";
import { percentile, type Figure } from "./figures.ts";
import { makeHistory } from "./history-state.ts";
import { withDaemon, type Stage } from "./stage.ts";

const TURNS = 50_000;
const STARTS = 5;
const LISTS = 50;
/** For the comparison with the index, and for memory that is given back. */
const SETTLE_MS = 5_000;

/** What ended turns cost: start, memory and lists with 50 000 of them, each beside the same with none. */
export async function benchHistory(directory: string): Promise<Figure[]> {
  const [full, empty] = [join(directory, "full"), join(directory, "empty")];
  await Promise.all([mkdir(full), mkdir(empty)]);
  await makeHistory(full, TURNS);
  const firstMs = await timeStart(full);
  await timeStart(empty);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let start = 0; start < STARTS; start += 1) {
    ours.push(await timeStart(full));
    theirs.push(await timeStart(empty));
  }
  const [withTurns, without] = [await withDaemon(full, look), await withDaemon(empty, look)];
  const row = (measure: string, [a, b]: readonly [number, number], unit: string, target?: string): Figure => ({
    measure,
    turnd: `${a.toFixed(1)} ${unit}`,
    yardstick: `${b.toFixed(1)} ${unit} with none`,
    ratio: a / b,
    ...(target === undefined ? {} : { target }),
  });
  const [startMs, emptyMs] = [percentile(ours, 0.5), percentile(theirs, 0.5)];
  return [
    row(`start with ${TURNS} ended turns, p50 of ${STARTS}`, [startMs, emptyMs], "ms", "<= 1.3"),
    row("the first of them, which makes the index", [firstMs, emptyMs], "ms"),
    row("resident memory, idle", [withTurns.memoryMiB, without.memoryMiB], "MiB", "20 MiB more"),
    row(`GET /v1/turns, p50 of ${LISTS}`, [withTurns.listMs, without.listMs], "ms", "5 ms"),
    row(`GET /v1/turns?status=failed, p50 of ${LISTS}`, [withTurns.filteredMs, without.filteredMs], "ms"),
    row("a new turn's admission after the start", [withTurns.admissionMs, without.admissionMs], "ms"),
  ];
}

async function timeStart(directory: string): Promise<number> {
  const startedAt = performance.now();
  return withDaemon(directory, async ({ turnd }) => {
    const { status } = await turnd.request("GET", "/v1/health");
    if (status !== 200) throw new Error(`health answered ${status}`);
    return performance.now() - startedAt;
  });
}

async function look({ turnd }: Stage) {
  const admittedAt = performance.now();
  await turnd.admit({ executor: "cli-b", session_id: "session-of-now", input: "hello" });
  const admissionMs = performance.now() - admittedAt;
  await delay(SETTLE_MS);
  const memoryMiB = residentMiB(turnd.pid);
  const time = async (path: string): Promise<number> => {
    const times: number[] = [];
    for (let list = 0; list < LISTS; list += 1) {
      const startedAt = performance.now();
      const { status } = await turnd.request("GET", path);
      if (status !== 200) throw new Error(`${path} answered ${status}`);
      times.push(performance.now() - startedAt);
    }
    return percentile(times, 0.5);
  };
  return { admissionMs, memoryMiB, listMs: await time("/v1/turns"), filteredMs: await time("/v1/turns?status=failed") };
}
