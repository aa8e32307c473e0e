import { availableParallelism, loadavg, totalmem } from "node:os";
import { benchCancel } from "./bench/cancel.ts";
import { benchIdleMemory, benchStart } from "./bench/daemon.ts";
import { showFigures, type Figure } from "./bench/figures.ts";
import { benchLatency } from "./bench/latency.ts";
import { benchPeakMemory } from "./bench/peak-memory.ts";
import { benchReplay } from "./bench/replay.ts";
import { benchEventLatency } from "./bench/service/event-latency.ts";
import { benchProcess } from "./bench/service/process.ts";
import { withService, type ServiceStage } from "./bench/service/service-stage.ts";
import { benchSubmission } from "./bench/service/submission.ts";
import { withDaemon, withDirectory, type Stage } from "./bench/stage.ts";
import { benchBurst, benchTrivialTurn } from "./bench/turns.ts";

/** A daemon of its own for each measure: what one leaves in memory or on disk is not the next one's business. */
const MEASURES: Readonly<Record<string, (directory: string) => Promise<Figure | Figure[]>>> = {
  "replay-a": (directory) => benchReplay("cli-a", directory),
  "replay-b": (directory) => benchReplay("cli-b", directory),
  "replay-memory-a": (directory) => benchPeakMemory("cli-a", directory, 200_000_000),
  "replay-memory-b": (directory) => benchPeakMemory("cli-b", directory, 200_000_000),
  "replay-2gb-a": (directory) => benchPeakMemory("cli-a", directory, 2_000_000_000),
  "replay-2gb-b": (directory) => benchPeakMemory("cli-b", directory, 2_000_000_000),
  latency: (directory) => withDaemon(directory, warm(benchLatency)),
  burst: (directory) => withDaemon(directory, warm(benchBurst)),
  turn: (directory) => withDaemon(directory, warm(benchTrivialTurn)),
  cancel: (directory) => withDaemon(directory, warm(benchCancel)),
  start: benchStart,
  memory: (directory) => withDaemon(directory, benchIdleMemory),
  "service-submission": (directory) => onBothEngines(directory, benchSubmission),
  "service-events": (directory) => onBothEngines(directory, benchEventLatency),
  "service-process": benchProcess,
};

/** Minutes and gigabytes, or another program: only where they are asked for by name; `service` names all of its own. */
const ON_DEMAND = /^(replay-2gb-|service-)/;

async function onBothEngines(directory: string, measure: (stage: ServiceStage) => Promise<Figure>): Promise<Figure[]> {
  return [await withService("pglite", directory, measure), await withService("postgres", directory, measure)];
}

/** The first turn of a daemon compiles what all later ones use. */
function warm<T>(measure: (stage: Stage) => Promise<T>): (stage: Stage) => Promise<T> {
  return async (stage) => {
    await stage.turnd.run({ executor: "cli-b", input: "burst 500" });
    return measure(stage);
  };
}

/** Runs the measures named on the command line, or all but the long ones, and prints one table. */
async function main(named: readonly string[]): Promise<void> {
  const isNamed = (name: string): boolean =>
    named.includes(name) || (named.includes("service") && name.startsWith("service-"));
  const unknown = named.find((name) => name !== "service" && MEASURES[name] === undefined);
  if (unknown !== undefined)
    throw new Error(`no measure "${unknown}"; there are service ${Object.keys(MEASURES).join(" ")}`);
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(MEASURES)) {
    if (named.length === 0 ? ON_DEMAND.test(name) : !isNamed(name)) continue;
    figures.push(...[await withDirectory("turnd-bench", measure)].flat());
  }
  const memoryGiB = (totalmem() / 2 ** 30).toFixed(0);
  const [load = 0] = loadavg();
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores, ${memoryGiB} GiB, ` +
      `Node ${process.versions.node}, load ${load.toFixed(1)}\n\n${showFigures(figures)}`,
  );
}

await main(process.argv.slice(2));
