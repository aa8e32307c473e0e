import { availableParallelism, loadavg, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { benchServiceBodies, benchTurndBodies } from "./bench/bodies.ts";
import { benchCancel } from "./bench/cancel.ts";
import { benchIdleMemory, benchStart } from "./bench/daemon.ts";
import { listFigures, showFigures, type Figure } from "./bench/figures.ts";
import { benchHistory } from "./bench/history.ts";
import { benchLatency } from "./bench/latency.ts";
import { benchBesidePeer } from "./bench/peer/beside-peer.ts";
import { benchPeakMemory } from "./bench/peak-memory.ts";
import { benchReaders } from "./bench/readers.ts";
import { benchReplay } from "./bench/replay.ts";
import { benchEventLatency } from "./bench/service/event-latency.ts";
import { benchAtRest } from "./bench/service/at-rest.ts";
import { benchDispatch } from "./bench/service/dispatch.ts";
import { benchBases } from "./bench/service/knowledge/bases.ts";
import { benchSmallFiles } from "./bench/service/knowledge/small-files.ts";
import { benchScale } from "./bench/service/knowledge/scale.ts";
import { benchUpload } from "./bench/service/knowledge/upload.ts";
import { benchVectors } from "./bench/service/knowledge/vectors.ts";
import { startInstantTurnd } from "./bench/service/instant-turnd.ts";
import { benchParts } from "./bench/service/parts.ts";
import { withService, type ServiceStage } from "./bench/service/service-stage.ts";
import { benchStart as benchServiceStart } from "./bench/service/start.ts";
import { benchStreams } from "./bench/service/streams.ts";
import { benchSubmission } from "./bench/service/submission.ts";
import { benchThroughput } from "./bench/service/throughput.ts";
import type { EngineName } from "./soak/service/stage.ts";
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
  readers: (directory) => withDaemon(directory, warm(benchReaders)),
  burst: (directory) => withDaemon(directory, warm(benchBurst)),
  turn: (directory) => withDaemon(directory, warm(benchTrivialTurn)),
  cancel: (directory) => withDaemon(directory, warm(benchCancel)),
  bodies: (directory) => withDaemon(directory, benchTurndBodies),
  start: benchStart,
  memory: benchIdleMemory,
  peer: benchBesidePeer,
  history: benchHistory,
  ...onEngines("service-submission", (engine, directory) => withService(engine, directory, benchSubmission)),
  ...onEngines("service-bodies", (engine, directory) => withService(engine, directory, benchServiceBodies)),
  ...onEngines("service-dispatch", (engine, directory) => withService(engine, directory, benchDispatch)),
  ...onEngines("service-events", (engine, directory) => withService(engine, directory, benchEventLatency)),
  ...onEngines("service-parts", benchParts),
  ...onEngines("service-streams", (engine, directory) => withService(engine, directory, benchStreams)),
  ...onEngines("service-throughput", (engine, directory) => withInstantTurnd(engine, directory, benchThroughput)),
  ...onEngines("service-at-rest", (engine, directory) =>
    withService(engine, directory, benchAtRest, { env: DEFAULT_LEASE }),
  ),
  "service-start-pglite": benchServiceStart,
  ...onEngines("knowledge-scale", benchScale),
  ...onEngines("knowledge-vectors", benchVectors),
  ...onEngines("knowledge-files", benchSmallFiles),
  ...onEngines("knowledge-upload", benchUpload),
  ...onEngines("knowledge-bases", benchBases),
};

type ServiceMeasure = (engine: EngineName, directory: string) => Promise<Figure | Figure[]>;

function onEngines(name: string, measure: ServiceMeasure): typeof MEASURES {
  return {
    [`${name}-pglite`]: (directory) => measure("pglite", directory),
    [`${name}-postgres`]: (directory) => measure("postgres", directory),
  };
}

async function withInstantTurnd(
  engine: EngineName,
  directory: string,
  measure: (stage: ServiceStage) => Promise<Figure>,
): Promise<Figure> {
  const turnd = await startInstantTurnd();
  try {
    return await withService(engine, directory, measure, { turndUrl: turnd.url });
  } finally {
    await turnd.close();
  }
}

/** The stage's own is half of it, and a worker says four times a lease that it lives. */
const DEFAULT_LEASE = { SERVICE_LEASE_MS: "20000" };

/** Minutes and gigabytes, or another program: only where they are asked for by name. */
const ON_DEMAND = /^(replay-2gb-|history$|peer$|service-|knowledge-)/;

/** The first turn of a daemon compiles what all later ones use. */
function warm<T>(measure: (stage: Stage) => Promise<T>): (stage: Stage) => Promise<T> {
  return async (stage) => {
    await stage.turnd.run({ executor: "cli-b", input: "burst 500" });
    return measure(stage);
  };
}

/** Runs the measures named on the command line, or all but the long ones, and prints one table, or one document. */
async function main(named: readonly string[], isJson: boolean): Promise<void> {
  // A beginning names all that begin so: "service", "service-dispatch".
  const isNamed = (name: string): boolean => named.some((each) => name === each || name.startsWith(`${each}-`));
  const unknown = named.find(
    (each) => !Object.keys(MEASURES).some((name) => name === each || name.startsWith(`${each}-`)),
  );
  if (unknown !== undefined) {
    console.error(`bench: no measure "${unknown}"; there are ${Object.keys(MEASURES).join(" ")}`);
    process.exitCode = 2;
    return;
  }
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(MEASURES)) {
    if (named.length === 0 ? ON_DEMAND.test(name) : !isNamed(name)) continue;
    const startedAt = performance.now();
    figures.push(...[await withDirectory("turnd-bench", measure)].flat());
    console.error(`${name}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  }
  const machine = {
    date: new Date().toISOString().slice(0, 10),
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
  };
  if (isJson) {
    console.log(JSON.stringify({ ...machine, figures: listFigures(figures) }, null, 2));
    return;
  }
  const { date, cores, memory_gib: memory, node, load } = machine;
  console.log(`${date}, ${cores} cores, ${memory} GiB, Node ${node}, load ${load}\n\n${showFigures(figures)}`);
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: "boolean" } } });
await main(positionals, values.json === true);
