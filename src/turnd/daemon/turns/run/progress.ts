import { TurnEndedData } from "../../../protocol/index.ts";
import type { TakenLine } from "../../process/output/follow.ts";
import { isTranslated, readLogged, type LoggedEvent } from "./logged-event.ts";
import type { Redact } from "../../event-log/redact.ts";
import { countEvent, type EventCounts } from "../outcome/event-counts.ts";
import { createToolLedger, type ToolLedger } from "./tool-ledger.ts";

/** How far a turn's log had got when an earlier daemon stopped writing it. */
export interface Progress {
  readonly hasStarted: boolean;
  readonly isDegraded: boolean;
  /** Warnings of turnd's own. */
  readonly warnings: readonly { readonly code: unknown; readonly message: unknown }[];
  /** How far the lines of the two files are logged, and what is logged of the last one. */
  readonly history: History;
  readonly counts: EventCounts;
  readonly tools: ToolLedger;
  readonly ended: { readonly data: TurnEndedData; readonly at: string } | undefined;
}

/** What an earlier daemon has logged of its translation. */
export interface History {
  /** Number of events; 0 when there is nothing to compare with. */
  readonly events: number;
  /** The greatest line number an event names, of each file. */
  readonly lines: Readonly<Record<TakenLine["source"], number>>;
  /** The line that was the last to be greater than those before it: the daemon may have ended within its events. */
  readonly lastLine: TakenLine | undefined;
  /** The events from its first one on; events of earlier lines that came later are among them. */
  readonly lastEvents: readonly LoggedEvent[];
}

/** The progress of a turn of which nothing is logged. */
export function noProgress(redact: Redact): Progress {
  return {
    hasStarted: false,
    isDegraded: false,
    warnings: [],
    history: { events: 0, lines: { stdout: 0, stderr: 0 }, lastLine: undefined, lastEvents: [] },
    counts: { unknown: 0, tools: 0, retries: 0 },
    tools: createToolLedger(redact),
    ended: undefined,
  };
}

/** Reads a log, which may be empty, for what it holds already. `redact` takes out of it what secrets there are now. */
export async function readProgress(path: string, redact: Redact): Promise<Progress> {
  let [hasStarted, isDegraded, events] = [false, false, 0];
  const warnings: { code: unknown; message: unknown }[] = [];
  const lines = { stdout: 0, stderr: 0 };
  const counts: EventCounts = { unknown: 0, tools: 0, retries: 0 };
  const tools = createToolLedger(redact);
  let lastLine: TakenLine | undefined;
  let lastEvents: LoggedEvent[] = [];
  let ended: Progress["ended"];
  for await (const event of readLogged(path)) {
    const { type, native, at } = event;
    countEvent(counts, type);
    if (type.startsWith("tool.")) tools.note({ type, data: event.data() });
    if (isTranslated(event)) {
      events += 1;
      const source = native?.source ?? "stdout";
      if (native !== undefined && native.line > lines[source]) {
        lines[source] = native.line;
        lastLine = { source, line: native.line };
        lastEvents = [];
      }
      lastEvents.push(event);
    } else if (type === "turn.started") hasStarted = true;
    else if (type === "session.degraded") isDegraded = true;
    else if (type === "warning") warnings.push(warningIn(event));
    else if (type === "turn.ended") ended = { data: TurnEndedData.parse(event.data()), at };
  }
  const history = { events, lines, lastLine, lastEvents };
  return { hasStarted, isDegraded, warnings, history, counts, tools, ended };
}

function warningIn(event: LoggedEvent): Progress["warnings"][number] {
  const { code, message } = event.data();
  return { code, message };
}

/** The order in which the lines of the two files were taken, as far as events show: it is the order of the events. */
export async function* takenLines(path: string): AsyncGenerator<TakenLine> {
  for await (const { native } of readLogged(path)) {
    if (native !== undefined) yield { source: native.source ?? "stdout", line: native.line };
  }
}
