import { z } from "zod";
import type { CliName, Mode, TurnEndedData } from "../../../protocol/index.ts";

/** What is kept with a turn of the trace it belongs to. Source: W3C Trace Context. */
export const TurnTrace = z.object({
  trace_id: z.string(),
  /** What its CLI and its `turn.started` get: of the turn's own span where there is one, otherwise what the request brought. */
  traceparent: z.string(),
  /** The turn's own span, where turnd sends spans: known before it is sent, so that others can refer to it. */
  span: z.object({ id: z.string(), parent_id: z.string().optional() }).optional(),
});
export type TurnTrace = z.infer<typeof TurnTrace>;

/** What is read of a turn for its spans: no prompt, no output, no path. */
export interface TracedTurn {
  readonly turn_id: string;
  readonly session_id: string;
  readonly request_id: string;
  readonly executor: CliName;
  readonly mode: Mode;
  readonly model?: string | undefined;
  readonly created_at: string;
  readonly started_at?: string | undefined;
  readonly cli_name?: string | undefined;
  readonly cli_version?: string | undefined;
  readonly replay?: object | undefined;
  readonly traceparent?: string | undefined;
  readonly span?: TurnTrace["span"];
}

/** How a traced turn ended, and where its events are. */
export interface TracedEnd {
  readonly data: TurnEndedData;
  readonly at: string;
  readonly logPath: string;
}

/** Called for what is to be seen of turns in a trace. No call throws or waits: what becomes of spans changes no turn. */
export interface TurnTracer {
  /** Decides at its admission which trace a turn belongs to. @param traceparent - of its request, checked; version 00 */
  begin(traceparent: string | undefined): TurnTrace | undefined;
  /** A turn is on the disk. @param receivedAt - when its request had come */
  admitted(turn: TracedTurn, receivedAt: Date): void;
  /** Turns that an earlier daemon had left without an end were put back in line. */
  resumed(turns: readonly TracedTurn[]): void;
  /** A turn's last event is logged. */
  ended(turn: TracedTurn, end: TracedEnd): void;
}

/** Sends no span: a turn belongs to the trace of its request, which is passed on as it came. */
export const PASSING_ON: TurnTracer = {
  begin: (traceparent) => (traceparent === undefined ? undefined : { trace_id: traceIdOf(traceparent), traceparent }),
  admitted: () => {},
  resumed: () => {},
  ended: () => {},
};

/** The trace of a `traceparent`. */
export function traceIdOf(traceparent: string): string {
  return traceparent.split("-")[1] ?? "";
}
