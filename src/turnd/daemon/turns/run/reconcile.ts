import type { Redact } from "../../event-log/redact.ts";
import type { OutputLine, TranslatedEvent } from "../../executors/contract/translator.ts";
import { isSameEvent, isTranslated, readLogged, type LoggedEvent } from "./logged-event.ts";
import type { History } from "./progress.ts";

/** Compares a translation with what an earlier daemon has logged, event by event. */
export interface Reconciler {
  /**
   * Of some events, in their order, those that are not logged.
   *
   * @param lines - the line each was translated from; none for those of the end
   */
  select(events: readonly TranslatedEvent[], lines: readonly OutputLine[]): Promise<readonly TranslatedEvent[]>;
  /** Called once the translation has ended: what is logged and did not come again is a difference, too. */
  finish(): Promise<void>;
  /** Where the two began to differ; undefined while they do not. */
  difference(): Difference | undefined;
  /** Whether the translation has come to where the log ended. */
  isCaughtUp(): boolean;
}

export interface Difference {
  /** Absent when it was seen at the end. */
  readonly line: { readonly source: OutputLine["source"]; readonly number: number } | undefined;
}

export interface ReconcilerOptions {
  /** Of the log. */
  readonly path: string;
  readonly history: History;
  readonly redact: Redact;
}

/**
 * Makes the reconciler of a turn that an earlier daemon has begun.
 *
 * As long as both are equal, what is logged is skipped and a record half logged is completed. Where they differ,
 * because this turnd, or a setting of its, is another one, the log stays as it is and the new translation begins behind the
 * last line that is logged.
 */
export function createReconciler({ path, history, redact }: ReconcilerOptions): Reconciler {
  const { lines, lastLine, lastEvents } = history;
  const logged = translatedEvents(path, history.events);
  let [isComparing, isCaughtUp] = [history.events > 0, history.events === 0];
  let difference: Difference | undefined;
  let [ofLastLine, isLastLineSame] = [0, true];

  function diverge(line: OutputLine | undefined): void {
    isComparing = false;
    difference = { line: line && { source: line.source, number: line.number } };
  }

  /** Counts what the last logged line is translated to now. */
  function noteLastLine(event: TranslatedEvent, line: OutputLine | undefined): boolean {
    const isLast = line !== undefined && line.source === lastLine?.source && line.number === lastLine.line;
    // What it says of an earlier line came before.
    if (!isLast || event.native?.line !== line.number) return false;
    const before = lastEvents[ofLastLine];
    ofLastLine += 1;
    if (before === undefined) return isLastLineSame;
    isLastLineSame &&= isSameEvent(before, event, redact);
    return false;
  }

  async function isNew(event: TranslatedEvent, line: OutputLine | undefined): Promise<boolean> {
    if (isCaughtUp && difference === undefined) return true;
    const isRestOfLastLine = noteLastLine(event, line);
    if (isComparing) {
      const next = await logged.next();
      if (next.done === true) {
        [isComparing, isCaughtUp] = [false, true];
        return true;
      }
      if (isSameEvent(next.value, event, redact)) return false;
      diverge(line);
    }
    if (line === undefined) return event.native === undefined || !(await isLogged(event));
    if (line.number <= lines[line.source]) return isRestOfLastLine;
    isCaughtUp = true;
    // It may be about an earlier line, and be the last that was logged.
    const isAboutEarlier = event.native !== undefined && event.native.line <= lines[event.native.source ?? "stdout"];
    return !isAboutEarlier || !lastEvents.some((before) => isSameEvent(before, event, redact));
  }

  async function isLogged(event: TranslatedEvent): Promise<boolean> {
    for await (const before of translatedEvents(path, history.events))
      if (isSameEvent(before, event, redact)) return true;
    return false;
  }

  return {
    async select(events, from) {
      const fresh: TranslatedEvent[] = [];
      for (const [index, event] of events.entries()) if (await isNew(event, from[index])) fresh.push(event);
      return fresh;
    },
    async finish() {
      if (isComparing && (await logged.next()).done !== true) diverge(undefined);
      await logged.return(undefined);
    },
    difference: () => difference,
    isCaughtUp: () => isCaughtUp,
  };
}

/** The first events of a log that came from a translator. */
async function* translatedEvents(path: string, count: number): AsyncGenerator<LoggedEvent, undefined> {
  let left = count;
  if (left === 0) return;
  for await (const event of readLogged(path)) {
    if (!isTranslated(event)) continue;
    yield event;
    left -= 1;
    if (left === 0) return;
  }
}
