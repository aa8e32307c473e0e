import { LoggedEvent, type TurnEndedData } from "../../protocol/index.ts";
import { readEvents } from "../event-log/read-events.ts";
import type { TakenLine } from "../process/follow.ts";

/** How far a turn's log had got when an earlier daemon stopped writing it. */
export interface Progress {
  readonly hasStarted: boolean;
  readonly isDegraded: boolean;
  /** Warnings of turnd's own. */
  readonly warnings: number;
  /** Events that came from a line: so many of the translator's are not to be logged again. */
  readonly fromLines: number;
  /** Events that the translator added at the end, such as interrupted tools. */
  readonly atEnd: number;
  readonly ended: { readonly data: TurnEndedData; readonly at: string } | undefined;
}

/** Reads a log, which may be empty, for what it already says. */
export async function readProgress(path: string): Promise<Progress> {
  let [hasStarted, isDegraded, warnings, fromLines, atEnd] = [false, false, 0, 0, 0];
  let ended: Progress["ended"];
  for await (const event of readLogged(path)) {
    if (event.native !== undefined) fromLines += 1;
    else if (event.type === "turn.started") hasStarted = true;
    else if (event.type === "session.degraded") isDegraded = true;
    else if (event.type === "warning") warnings += 1;
    else if (event.type === "tool.ended") atEnd += 1;
    else if (event.type === "turn.ended") ended = { data: event.data, at: event.at };
  }
  return { hasStarted, isDegraded, warnings, fromLines, atEnd, ended };
}

/** The order in which the lines of the two files were taken, as far as events tell: it is the order of the events. */
export async function* takenLines(path: string): AsyncGenerator<TakenLine> {
  for await (const { native } of readLogged(path)) {
    if (native !== undefined) yield { source: native.source ?? "stdout", line: native.line };
  }
}

async function* readLogged(path: string): AsyncGenerator<LoggedEvent> {
  const signal = new AbortController().signal;
  for await (const lines of readEvents(path, { afterSeq: 0, isFollowing: false, signal })) {
    for (const line of lines) yield LoggedEvent.parse(JSON.parse(line.bytes.toString("utf8")));
  }
}
