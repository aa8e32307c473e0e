import type { Logger } from "pino";
import type { Settings } from "../settings.ts";
import { PASSING_ON } from "../turns/lifecycle/tracer.ts";
import { readSpanDestination } from "./otel-variables.ts";
import type { Tracing } from "./tracing.ts";

/** Starts sending spans where the environment says so. Otherwise nothing of the SDK is loaded. */
export async function startTracing({ env }: Settings, version: string, logger: Logger): Promise<Tracing> {
  const destination = readSpanDestination(env);
  if (!destination.isOn) {
    if (destination.warning !== undefined) logger.warn(destination.warning);
    return NO_SPANS;
  }
  const { origin: url, protocol } = destination;
  try {
    const { createOtlpTracing } = await import("./otlp-tracing.ts");
    const tracing = await createOtlpTracing({ protocol, version, logger });
    logger.info({ url, protocol }, "spans of turns are sent");
    return tracing;
  } catch (error) {
    // Such as a value that the SDK refuses: turns matter more than their spans.
    logger.warn({ url, protocol, err: error }, "no spans are sent: the SDK cannot be started");
    return NO_SPANS;
  }
}

const NO_SPANS: Tracing = { tracer: PASSING_ON, stop: async () => {} };
