import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDaemon } from "../../../test/harness/daemon.ts";
import { fakeEnv } from "../../../test/harness/fake-env.ts";
import { MAIN } from "../../bench/stage.ts";
import { percentile } from "../../bench/figures.ts";
import type { SoakOptions } from "../soak-options.ts";
import { plot, slopeOf, type Series } from "./plot.ts";

const TURNS = 20_000;
const AT_ONCE = 4;
/** A point of the plot. */
const SAMPLE_TURNS = 200;
/** Before it, Node compiles and its heap grows to its size. */
const WARM_SHARE = 0.2;
const SESSIONS = 40;
const CANCELLED_EVERY = 25;
const nameOf = (session: number, generation: number): string => `session-${session}-of-${generation}`;

interface Sample {
  readonly turns: number;
  readonly memoryMiB: number;
  readonly descriptors: number;
  readonly turnMs: number;
}

/** What a thousand more turns may add: to resident memory in MiB, to open files, and to a turn's milliseconds as a share of it. */
const BOUNDS = { memoryMiB: 0.5, descriptors: 0.05, turnShare: 0.02 };

/** Runs very many turns in one process, and fits a line to its memory, its open files and its turns' times. @returns faults */
export async function soakLong({ directory, signal, turns = TURNS }: SoakOptions): Promise<string[]> {
  const turnd = await startDaemon({ directory, env: fakeEnv(directory), program: MAIN });
  const samples: Sample[] = [];
  let [begun, done] = [0, 0];
  let times: number[] = [];

  /** Each is followed by a reader who leaves, and ends by a cancel. */
  async function cancelOne(sessionId: string): Promise<void> {
    const { turn_id: turnId } = await turnd.admit({ executor: "cli-b", session_id: sessionId, input: "hello\nhang" });
    for await (const { event } of turnd.follow(turnId)) if (event === "message") break;
    await turnd.request("POST", `/v1/turns/${turnId}/cancel`);
  }
  async function deleteHalf(generation: number): Promise<void> {
    for (let at = 0; at < SESSIONS; at += 2) {
      await turnd.request("DELETE", `/v1/sessions/${nameOf(at, generation)}`);
    }
  }
  async function play(): Promise<void> {
    while (begun < turns && !signal.aborted) {
      begun += 1;
      const sessionId = nameOf(begun % SESSIONS, Math.floor(begun / 1_000));
      const startedAt = performance.now();
      const isCancelled = begun % CANCELLED_EVERY === 0;
      if (begun % 1_000 === 0) await deleteHalf(begun / 1_000 - 2);
      if (isCancelled) await cancelOne(sessionId);
      else {
        const { status } = await turnd.run({ executor: "cli-b", session_id: sessionId, input: `hello ${begun}` });
        if (status !== "completed") throw new Error(`a turn ended as ${status}`);
        times.push(performance.now() - startedAt);
      }
      done += 1;
      if (done % SAMPLE_TURNS !== 0) continue;
      samples.push({ turns: done, ...lookAt(turnd.pid), turnMs: percentile(times, 0.5) });
      times = [];
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, play));
  } finally {
    await turnd.stop();
  }
  return report(samples, done);
}

function lookAt(pid: number): Pick<Sample, "memoryMiB" | "descriptors"> {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return { memoryMiB: Number(kilobytes) / 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

function report(samples: readonly Sample[], done: number): string[] {
  const steady = samples.filter(({ turns }) => turns > done * WARM_SHARE);
  const seriesOf = (name: string, unit: string, read: (sample: Sample) => number, bound: number): Series => ({
    name,
    unit,
    points: samples.map((sample) => [sample.turns, read(sample)] as const),
    slope: slopeOf(steady.map((sample) => [sample.turns / 1_000, read(sample)] as const)),
    bound,
  });
  const typicalMs = percentile(
    steady.map(({ turnMs }) => turnMs),
    0.5,
  );
  const series = [
    seriesOf("resident memory", "MiB", ({ memoryMiB }) => memoryMiB, BOUNDS.memoryMiB),
    seriesOf("open files", "", ({ descriptors }) => descriptors, BOUNDS.descriptors),
    seriesOf("a turn, p50", "ms", ({ turnMs }) => turnMs, typicalMs * BOUNDS.turnShare),
  ];
  const file = join(tmpdir(), `turnd-soak-long-${process.pid}.svg`);
  writeFileSync(file, plot(series));
  console.log(`${new Date().toISOString().slice(0, 10)}, ${done} turns in one process, plotted in ${file}`);
  for (const { name, unit, points, slope, bound } of series) {
    const [first, last] = [points[0]?.[1] ?? 0, points.at(-1)?.[1] ?? 0];
    const most = Math.max(...points.map(([, value]) => value));
    const figures = [first, last, most].map((value) => value.toFixed(1));
    console.log(
      `${name}: ${figures[0]} ${unit} at first, ${figures[1]} at last, ${figures[2]} at most; ` +
        `${slope.value.toFixed(3)} ± ${slope.doubt.toFixed(3)} ${unit} per 1000 turns (at most ${bound.toFixed(3)})`,
    );
  }
  return series
    .filter(({ slope, bound }) => slope.value - slope.doubt > bound)
    .map(
      ({ name, slope, bound }) =>
        `${name} grows by ${slope.value.toFixed(3)} per 1000 turns, more than ${bound.toFixed(3)}`,
    );
}
