import { setTimeout as delay } from "node:timers/promises";
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Link,
  type SpanContext,
} from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
  type IdGenerator,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import PQueue from "p-queue";
import type { Logger } from "pino";
import { defined } from "../../../kit/defined.ts";
import type { TracedTurn, TurnTracer } from "../turns/lifecycle/tracer.ts";
import type { OtlpProtocol } from "./otel-variables.ts";
import { createFaultLog, listenToSdk } from "./span-faults.ts";
import type { Tracing } from "./tracing.ts";
import { idsOf, spansOf, type SpanFacts } from "./turn-spans.ts";

export interface OtlpTracingOptions {
  readonly protocol: OtlpProtocol;
  readonly version: string;
  readonly logger: Logger;
}

/** Longest time that the last spans hold up a stop. */
const STOP_MS = 2_000;
/** Ended turns whose spans are not made yet; more have none. */
const MAX_WAITING = 1_000;
/** Spans of one turn that are sent before and after all others, so that they do not overflow the SDK's queue. */
const MANY_SPANS = 200;

/**
 * Sends spans by OTLP, as the standard variables of the process's environment say.
 *
 * A turn's spans are made when it has ended, from its log: while it runs it costs nothing, and a turn that goes on after a
 * restart has all of them. Nothing here makes a turn wait or fail.
 */
export async function createOtlpTracing({ protocol, version, logger }: OtlpTracingOptions): Promise<Tracing> {
  const report = createFaultLog(logger);
  listenToSdk(report);
  const ids = createIds();
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "turnd", "service.version": version }))
      .merge(detectResources({ detectors: [envDetector] })),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(reporting(await createExporter(protocol), report))],
  });
  const tracer = provider.getTracer("turnd", version);
  const startedMs = performance.timeOrigin;
  const waiting = new PQueue({ concurrency: 1 });

  function send(facts: SpanFacts, context: Context, options: { kind?: SpanKind; links?: Link[] } = {}): SpanContext {
    const { name, startMs, endMs, attributes, error } = facts;
    const span = tracer.startSpan(name, { startTime: startMs, attributes, ...options }, context);
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end(Math.max(startMs, endMs));
    return span.spanContext();
  }

  async function flush(): Promise<void> {
    // What could not be sent has been reported.
    await provider.forceFlush().catch(() => undefined);
  }

  async function sendTurn(turn: TracedTurn, own: SpanContext, end: Parameters<TurnTracer["ended"]>[1]): Promise<void> {
    const spans = await spansOf(turn, end);
    const isLarge = spans.parts.length > MANY_SPANS;
    if (isLarge) await flush();
    const context = ids.withPreset(own, () => send(spans.own, parentOf(turn, own), { kind: SpanKind.SERVER }));
    for (const part of spans.parts) send(part, within(context));
    if (isLarge) await flush();
  }

  return {
    tracer: {
      begin(traceparent) {
        const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent);
        const context = parent === undefined ? ROOT_CONTEXT : within({ ...parent, isRemote: true });
        // Never ended, so never sent: the SDK decides on its id and whether the trace is sampled.
        const own = tracer.startSpan("turn", { kind: SpanKind.SERVER }, context).spanContext();
        return {
          trace_id: own.traceId,
          traceparent: `00-${own.traceId}-${own.spanId}-${own.traceFlags.toString(16).padStart(2, "0")}`,
          span: { id: own.spanId, ...defined({ parent_id: parent?.spanId }) },
        };
      },
      admitted(turn, receivedAt) {
        const own = ownSpan(turn);
        if (own === undefined) return;
        const [startMs, endMs] = [receivedAt.getTime(), Date.now()];
        send({ name: "turn.admission", startMs, endMs, attributes: idsOf(turn) }, within(own));
      },
      resumed(turns) {
        const own = turns.flatMap((turn) => {
          const context = ownSpan(turn);
          return context === undefined ? [] : [{ turn, context }];
        });
        const times = { startMs: startedMs, endMs: Date.now() };
        const attributes = { "turnd.turns.resumed": turns.length };
        const links = own.map(({ context }) => ({ context }));
        const restart = send({ name: "turnd.recovery", ...times, attributes }, ROOT_CONTEXT, { links });
        for (const { turn, context } of own) {
          const recovery = { name: "turn.recovery", ...times, attributes: idsOf(turn) };
          send(recovery, within(context), { links: [{ context: restart }] });
        }
      },
      ended(turn, end) {
        const own = ownSpan(turn);
        if (own === undefined) return;
        if (waiting.size >= MAX_WAITING) return report("too many ended turns wait: the spans of one are dropped");
        void waiting.add(async () => {
          try {
            await sendTurn(turn, own, end);
          } catch (error) {
            const reason = error instanceof Error ? error.message : String(error);
            report(`spans of a turn could not be made: ${reason}`);
          }
        });
      },
    },
    async stop() {
      const all = waiting.onIdle().then(() => provider.shutdown());
      const isSent = await Promise.race([
        all.then(
          () => true,
          () => true,
        ),
        delay(STOP_MS, false, { ref: false }),
      ]);
      if (!isSent) logger.warn({ boundMs: STOP_MS }, "the last spans were not sent in time");
    },
  };
}

async function createExporter(protocol: OtlpProtocol): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
}

/** Reports what could not be sent; for the SDK it is done either way. */
function reporting(exporter: SpanExporter, report: (message: string) => void): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        if (code !== ExportResultCode.SUCCESS)
          report(`${spans.length} spans could not be sent: ${error?.message ?? "no reason is given"}`);
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** Random ids, but for a span whose ids were given out before. */
function createIds(): IdGenerator & { withPreset<T>(preset: SpanContext, make: () => T): T } {
  const random = new RandomIdGenerator();
  let preset: SpanContext | undefined;
  return {
    generateTraceId: () => preset?.traceId ?? random.generateTraceId(),
    generateSpanId: () => preset?.spanId ?? random.generateSpanId(),
    withPreset(given, make) {
      preset = given;
      try {
        return make();
      } finally {
        preset = undefined;
      }
    },
  };
}

/** The span of a turn that was admitted while spans were sent, and whose trace is sampled. */
function ownSpan({ span, traceparent }: TracedTurn): SpanContext | undefined {
  if (span === undefined || traceparent === undefined) return undefined;
  const own = parseTraceparent(traceparent);
  return (own.traceFlags & 1) === 0 ? undefined : own;
}

function parentOf({ span }: TracedTurn, own: SpanContext): Context {
  if (span?.parent_id === undefined) return ROOT_CONTEXT;
  return within({ ...own, spanId: span.parent_id, isRemote: true });
}

function within(context: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, context);
}

/** Of a `traceparent` that has been checked. */
function parseTraceparent(traceparent: string): SpanContext {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}
