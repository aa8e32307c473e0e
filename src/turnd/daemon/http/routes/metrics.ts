import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { z } from "zod";
import type { TurnEnd, TurnObserver } from "../../turns/lifecycle/observer.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import { refusals } from "../refusals.ts";

/**
 * turnd's metrics. Labels are closed lists, and a few versions of CLIs: no id, path or secret can be one, and no caller
 * can make them grow without a limit.
 */
export interface Metrics {
  readonly registry: Registry;
  /** What the turns report to. */
  readonly observer: TurnObserver;
  /** Events were sent to a client: `late` ones had been logged before it asked, `live` ones came while it listened. */
  countSent(kind: "live" | "late", count: number): void;
  /** Where the gauges read their values; nothing before this is called. */
  observeLoad(look: () => Load): void;
}

/** The load at this moment. */
export interface Load {
  readonly queued: number;
  readonly running: number;
  readonly streams: number;
}

const TURN_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const FIRST_EVENT_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60];

/** Makes the metrics, all at zero. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const versionLabel = createVersionLabel();
  let look: () => Load = () => ({ queued: 0, running: 0, streams: 0 });

  const turns = new Counter({
    name: "turnd_turns_total",
    help: "Turns that have ended; code is the failure's, or none; executor is replay for a recording that was played",
    labelNames: ["executor", "status", "code"],
    registers,
  });
  const tokens = new Counter({
    name: "turnd_tokens_total",
    help: "Tokens of turns that have ended; input includes cached_input and cache_write, output includes reasoning",
    labelNames: ["executor", "kind"],
    registers,
  });
  const duration = new Histogram({
    name: "turnd_turn_duration_seconds",
    help: "From the start of a turn to its end",
    labelNames: ["executor", "status"],
    buckets: TURN_SECONDS,
    registers,
  });
  const firstEvent = new Histogram({
    name: "turnd_first_event_seconds",
    help: "From the start of the CLI to its first event",
    labelNames: ["executor"],
    buckets: FIRST_EVENT_SECONDS,
    registers,
  });
  const written = new Counter({
    name: "turnd_events_written_total",
    help: "Events written to the logs of turns",
    labelNames: ["executor"],
    registers,
  });
  const skipped = new Counter({
    name: "turnd_events_skipped_total",
    help: "Events of turns resumed after a restart that an earlier daemon had logged",
    registers,
  });
  // Counted for each client of each line, while the next client waits: the metric has it when it is asked for.
  const sentSince = { live: 0, late: 0 };
  const sent: Counter<"kind"> = new Counter({
    name: "turnd_events_sent_total",
    help: "Events sent to clients: late ones had been logged before the client asked, live ones came while it listened",
    labelNames: ["kind"],
    registers,
    collect() {
      for (const kind of ["late", "live"] as const) {
        if (sentSince[kind] > 0) sent.inc({ kind }, sentSince[kind]);
        sentSince[kind] = 0;
      }
    },
  });
  const unknown = new Counter({
    name: "turnd_records_unknown_total",
    help: "Records of ended turns that the translator did not know: the CLI has changed",
    labelNames: ["executor", "cli_version"],
    registers,
  });
  const swept = new Counter({
    name: "turnd_processes_swept_total",
    help: "Processes ended because their CLI had left them or was stopped",
    registers,
  });
  const retired = new Counter({
    name: "turnd_sessions_retired_total",
    help: "Ended sessions deleted by TURND_RETENTION_DAYS or TURND_RETENTION_BYTES",
    registers,
  });
  addGauge("turnd_turns_queued", "Turns that wait", ({ queued }) => queued);
  addGauge("turnd_turns_running", "Turns that run", ({ running }) => running);
  addGauge("turnd_streams_open", "Event streams that are open", ({ streams }) => streams);

  function addGauge(name: string, help: string, read: (load: Load) => number): void {
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read(look())) });
  }

  return {
    registry,
    observer: {
      eventsWritten: (executor, count) => written.inc({ executor }, count),
      eventsSkipped: (count) => skipped.inc(count),
      firstEvent: (executor, afterMs) => firstEvent.observe({ executor }, afterMs / 1_000),
      processesSwept: (count) => swept.inc(count),
      sessionRetired: () => retired.inc(),
      turnEnded({ executor, status, code, durationMs, cliVersion, unknownRecords, usage }) {
        turns.inc({ executor, status, code: code ?? "none" });
        duration.observe({ executor, status }, durationMs / 1_000);
        for (const [kind, count] of Object.entries(tokensOf(usage)))
          if (count > 0) tokens.inc({ executor, kind }, count);
        if (unknownRecords > 0) unknown.inc({ executor, cli_version: versionLabel(cliVersion) }, unknownRecords);
      },
    },
    countSent(kind, count) {
      sentSince[kind] += count;
    },
    observeLoad(from) {
      look = from;
    },
  };
}

/** Tokens by the value of the `kind` label; unknown ones are in none. */
function tokensOf(usage: TurnEnd["usage"]): Readonly<Record<string, number>> {
  if (usage === undefined) return {};
  return {
    input: usage.input_tokens,
    cached_input: usage.cached_input_tokens,
    cache_write: usage.cache_write_tokens,
    output: usage.output_tokens,
    reasoning: usage.reasoning_tokens,
  };
}

/** Versions with a label of their own; the version of a replay is whatever its recording says. */
const MAX_VERSIONS = 20;
const VERSION = /^\d{1,9}\.\d{1,9}\.\d{1,9}(?![\d.])/;

/**
 * Makes the value of the `cli_version` label: the first versions seen, by their three numbers; all others as `other`.
 */
function createVersionLabel(): (version: string | undefined) => string {
  const known = new Set<string>();
  return (version) => {
    if (version === undefined) return "unknown";
    const numbers = VERSION.exec(version)?.[0];
    if (numbers === undefined) return "other";
    if (known.size < MAX_VERSIONS) known.add(numbers);
    return known.has(numbers) ? numbers : "other";
  };
}

const EVENT_LOOP_MS = 10;

/**
 * Adds Node's metrics of the process: memory, CPU, event loop, open files. Once per registry.
 *
 * From then on Node looks at its event loop a hundred times a second, and at each collection of garbage.
 *
 * Resolves once it has looked. What it gives before is the largest number as the smallest delay, and NaN.
 */
export async function addProcessMetrics({ registry }: Metrics): Promise<void> {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  // As prom-client looks, and begun after it.
  const delay = monitorEventLoopDelay({ resolution: EVENT_LOOP_MS });
  delay.enable();
  while (delay.count === 0) await setTimeout(EVENT_LOOP_MS);
  delay.disable();
}

export interface MetricsRoutesOptions {
  readonly metrics: Metrics;
  readonly service: TurnService;
  readonly openStreams: () => number;
}

/** `/metrics`. */
export const metricsRoutes: FastifyPluginAsyncZod<MetricsRoutesOptions> = async (app, options) => {
  const { metrics, service, openStreams } = options;
  metrics.observeLoad(() => ({ ...service.load(), streams: openStreams() }));
  const schema = {
    tags: ["sandbox"],
    operationId: "getMetrics",
    summary: "Read turnd's metrics, as Prometheus text",
    description: "docs/reference.md lists them. No label holds an id.",
    response: {
      200: { description: "The figures.", content: { "text/plain": { schema: z.string() } } },
      ...refusals(),
    },
  };
  let added: Promise<void> | undefined;
  app.get("/metrics", { schema }, async (_request, reply) => {
    // Nobody may ever ask, and a turnd that waits would use a hundredth of a core to be ready for it.
    added ??= addProcessMetrics(metrics);
    await added;
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
};
