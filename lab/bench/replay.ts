import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import split2 from "split2";
import { createRedactor } from "../../src/turnd/daemon/event-log/redact.ts";
import { findExecutor } from "../../src/turnd/daemon/executors/registry.ts";
import { openRecording } from "../../src/turnd/daemon/replay/recording.ts";
import { replayRecording } from "../../src/turnd/daemon/turns/replay/replay.ts";
import type { Figure } from "./figures.ts";
import { makeRecording, type Recorded } from "./recordings.ts";

const SIZE_BYTES = 50_000_000;
const ROUNDS = 3;

/** How fast a recording becomes events, beside a bare loop that splits and parses the same file. */
export async function benchReplay(executor: Recorded, directory: string): Promise<Figure[]> {
  const path = join(directory, executor);
  await makeRecording(executor, path, SIZE_BYTES);
  const { size } = await stat(join(path, "stdout.jsonl"));
  const bare: Cost[] = [];
  const replayed: Cost[] = [];
  let events = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(await costOf(() => parseBarely(join(path, "stdout.jsonl"))));
    replayed.push(await costOf(async () => void (events = await replay(executor, path))));
  }
  const megabytes = (ms: number): string => `${(size / 1000 / ms).toFixed(1)} MB/s`;
  return (["wallMs", "cpuMs"] as const).map((kind) => {
    const [ours, theirs] = [replayed, bare].map((costs) => Math.min(...costs.map((cost) => cost[kind])));
    if (ours === undefined || theirs === undefined) throw new Error("nothing was measured");
    return {
      measure: `replay ${executor}, ${(size / 1e6).toFixed(0)} MB, ${kind === "wallMs" ? "wall" : "CPU"} time`,
      turnd: `${megabytes(ours)}, ${Math.round((events * 1000) / ours)} events/s`,
      yardstick: `${megabytes(theirs)} split2 + JSON.parse`,
      ratio: theirs / ours,
      target: ">= 0.50",
    };
  });
}

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function costOf(run: () => Promise<void>): Promise<Cost> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  await run();
  const used = process.cpuUsage(before);
  return { wallMs: performance.now() - startedAt, cpuMs: (used.user + used.system) / 1000 };
}

async function parseBarely(path: string): Promise<void> {
  let records = 0;
  const lines = createReadStream(path).pipe(split2((line): unknown => JSON.parse(line)));
  for await (const record of lines) records += Number(record !== undefined);
  if (records === 0) throw new Error(`${path}: no records`);
}

async function replay(id: Recorded, path: string): Promise<number> {
  const executor = findExecutor(id);
  if (executor === undefined) throw new Error(`no executor ${id}`);
  const ended = await replayRecording(await openRecording(path), {
    executor,
    maxLineBytes: 16_777_216,
    now: () => new Date(),
    redact: createRedactor(["FAKE-KEY-FOR-TESTS"]),
    keepsOrder: false,
    write: () => Promise.resolve(),
  });
  if (ended.status !== "completed" || ended.counts.unknown > 0) throw new Error(`${path}: ${JSON.stringify(ended)}`);
  return ended.counts.events;
}
