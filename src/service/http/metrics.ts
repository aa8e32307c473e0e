import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { RunObserver } from "../runs/state/observer.ts";
import type { Load } from "./load.ts";

/**
 * The service's metrics. Labels are closed lists of this program: no id, path, name or secret can be one, so their number is
 * bounded.
 */
export interface Metrics {
  /** What runs report to. Counts of this process. */
  readonly observer: RunObserver;
  /** Where the number of open event streams comes from. */
  observeStreams(count: () => number): void;
  readonly contentType: string;
  /** Prometheus text. @param load - what the rows show now; undefined where the database does not answer */
  render(load: Load | undefined): Promise<string>;
  readonly registry: Registry;
}

/** From a dispatch, which is some milliseconds, to a queue of minutes. */
const DISPATCH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const EVENT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Makes the metrics, all at zero. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  let countStreams = (): number => 0;

  const runs = new Counter({
    name: "svc_runs_total",
    help: "Runs that this process has ended; error is the failure's type, or none",
    labelNames: ["status", "error", "source"],
    registers,
  });
  const tokens = new Counter({
    name: "svc_tokens_total",
    help: "Tokens of runs that this process has ended; input includes cached_input and cache_write, output includes reasoning",
    labelNames: ["kind"],
    registers,
  });
  const dispatch = new Histogram({
    name: "svc_dispatch_seconds",
    help: "From a run's dispatch to its turn admitted by turnd",
    buckets: DISPATCH_SECONDS,
    registers,
  });
  const event = new Histogram({
    name: "svc_event_seconds",
    help: "From an event written by turnd to the same event in the run's rows",
    buckets: EVENT_SECONDS,
    registers,
  });
  const streams: Gauge = new Gauge({
    name: "svc_streams_open",
    help: "Event streams open in this process",
    registers,
    collect: () => streams.set(countStreams()),
  });
  const gauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
    new Gauge({ name, help, labelNames, registers });
  const database = gauge(
    "svc_database_up",
    "1 when the database answered this scrape; without it the rows below are absent",
  );
  const open = gauge("svc_runs_open", "Runs that have not ended, in the whole cluster", ["status"]);
  const queued = gauge("svc_requests_queued", "Requests that wait in threads, in the whole cluster");
  const waiting = gauge("svc_jobs_waiting", "Jobs that are due and that no worker has, in the whole cluster", [
    "queue",
  ]);
  const lag = gauge("svc_job_lag_seconds", "How long the oldest of these jobs has been due", ["queue"]);
  const sandboxes = gauge("svc_sandboxes", "Sandboxes by their state, in the whole cluster", ["kind", "state"]);

  function showLoad(load: Load | undefined): void {
    for (const each of [open, queued, waiting, lag, sandboxes]) each.reset();
    database.set(load === undefined ? 0 : 1);
    if (load === undefined) {
      // A gauge without labels keeps its zero after a reset; no value at all is right.
      queued.remove();
      return;
    }
    for (const { status, count } of load.openRuns) open.set({ status }, count);
    queued.set(load.queuedRequests);
    for (const { queue, waiting: count, lagSeconds } of load.jobs) {
      waiting.set({ queue }, count);
      lag.set({ queue }, lagSeconds);
    }
    for (const { kind, state, count } of load.sandboxes) sandboxes.set({ kind, state }, count);
  }

  let rendering: Promise<unknown> = Promise.resolve();
  return {
    registry,
    contentType: registry.contentType,
    observer: {
      runEnded: ({ status, error, source }) => runs.inc({ status, error: error ?? "none", source }),
      tokensUsed(usage) {
        tokens.inc({ kind: "input" }, usage.input_tokens);
        tokens.inc({ kind: "cached_input" }, usage.cached_input_tokens);
        tokens.inc({ kind: "cache_write" }, usage.cache_write_tokens);
        tokens.inc({ kind: "output" }, usage.output_tokens);
        tokens.inc({ kind: "reasoning" }, usage.reasoning_tokens);
      },
      turnAdmitted: (afterMs) => dispatch.observe(seconds(afterMs)),
      eventWritten: (afterMs) => event.observe(seconds(afterMs)),
    },
    observeStreams(count) {
      countStreams = count;
    },
    render(load) {
      // One after the other: a scrape must not see the gauges half set by another.
      const text = rendering.then(() => {
        showLoad(load);
        return registry.metrics();
      });
      rendering = text.catch(() => undefined);
      return text;
    },
  };
}

/** Adds Node's own metrics of the process: memory, CPU, event loop, open files. Once a process. */
export function addProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry });
}

/** Two clocks are involved: where they disagree, an instant is the best guess. */
function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}
