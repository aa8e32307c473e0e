import type { TurnTracer } from "../turns/lifecycle/tracer.ts";

/** What sends spans, or nothing. */
export interface Tracing {
  readonly tracer: TurnTracer;
  /** Sends what waits, for as long as it may hold up a stop; never throws. */
  stop(): Promise<void>;
}
