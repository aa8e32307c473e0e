import type { EventLog } from "../../event-log/event-log.ts";
import type { NewEvent } from "../../event-log/sequence.ts";
import { warningEvent, type WarningCode } from "../../../protocol/index.ts";
import type { Redact } from "../../event-log/redact.ts";
import type { OutputLine, TranslatedEvent } from "../../executors/contract/translator.ts";
import { countEvent, type EventCounts } from "../outcome/event-counts.ts";
import type { Progress } from "./progress.ts";
import { createReconciler, type Difference } from "./reconcile.ts";
import { isStorageError } from "../../storage/storage-error.ts";

/** Puts a turn's events into its log, past what an earlier daemon has logged of them; a promise where that takes time. */
export interface Emitter {
  /**
   * Events of the translator: those logged before are skipped, so that a record half logged is completed.
   *
   * @param lines - the line each was translated from; none for those of the end
   */
  translated(events: readonly TranslatedEvent[], lines: readonly OutputLine[]): Promise<void> | undefined;
  /** Events of turnd itself. */
  emitDaemonEvents(events: readonly NewEvent[]): Promise<void> | undefined;
  /** A warning of turnd's own that a log has once, however often the turn is resumed after a restart. */
  warnOnce(code: WarningCode, message: string): Promise<void>;
  /** Called once all of the output has been translated, before the turn's end is logged. */
  finish(): Promise<void>;
  /** Whether all that an earlier daemon has logged has been skipped; at once where there was none. */
  isCaughtUp(): boolean;
  /** What the log holds. */
  counts(): EventCounts;
  /** The disk would not take an event; nothing has been logged since. */
  fault(): Error | undefined;
}

export interface EmitterOptions {
  readonly log: EventLog;
  readonly logPath: string;
  readonly progress: Progress;
  readonly redact: Redact;
  readonly onWritten: (count: number) => void;
  readonly onSkipped: (count: number) => void;
  /** Called once where this turnd translates what is logged differently, and where. */
  readonly onDifference: (message: string) => void;
  /** Called once where the disk does not take events any more; what was written is kept. */
  readonly onFault: () => void;
}

/** Makes the emitter of a turn. */
export function createEmitter(options: EmitterOptions): Emitter {
  const { log, progress } = options;
  const { tools } = progress;
  const counts = { ...progress.counts };
  const reconciler = createReconciler({ path: options.logPath, history: progress.history, redact: options.redact });
  const warned = new Set(progress.warnings.map(({ code }) => code));
  let hasLoggedDifference = false;
  let fault: Error | undefined;

  function emitDaemonEvents(events: readonly NewEvent[]): Promise<void> | undefined {
    if (fault !== undefined || events.length === 0) return undefined;
    const appending = log.append(events);
    return appending === undefined ? noteWritten(events) : appending.then(() => noteWritten(events), noteFault);
  }

  function noteWritten(events: readonly NewEvent[]): undefined {
    options.onWritten(events.length);
    for (const { type } of events) countEvent(counts, type);
  }

  function noteFault(error: unknown): void {
    if (!isStorageError(error)) throw error;
    fault = error;
    options.onFault();
  }

  async function warnOnce(code: WarningCode, message: string): Promise<void> {
    if (warned.has(code)) return;
    warned.add(code);
    await emitDaemonEvents([warningEvent(code, message)]);
  }

  async function warnOfDifference(difference: Difference): Promise<void> {
    if (hasLoggedDifference) return;
    hasLoggedDifference = true;
    const message = describeDifference(difference);
    options.onDifference(message);
    await warnOnce("translation_changed", message);
  }

  async function emitFitting(events: readonly TranslatedEvent[]): Promise<void> {
    const fitting: TranslatedEvent[] = [];
    for (const event of events) {
      for (const fit of tools.fit(event)) {
        tools.note(fit);
        fitting.push(fit);
      }
    }
    await emitDaemonEvents(fitting);
  }

  async function emitNew(events: readonly TranslatedEvent[], lines: readonly OutputLine[]): Promise<void> {
    const fresh = await reconciler.select(events, lines);
    if (fresh.length < events.length) options.onSkipped(events.length - fresh.length);
    const difference = reconciler.difference();
    if (difference === undefined) return emitDaemonEvents(fresh.map(tools.underLoggedId));
    await warnOfDifference(difference);
    await emitFitting(fresh);
  }

  return {
    translated(events, lines) {
      // Nothing of it was logged before.
      if (reconciler.isCaughtUp() && reconciler.difference() === undefined)
        return emitDaemonEvents(events.map(tools.underLoggedId));
      return emitNew(events, lines);
    },
    emitDaemonEvents,
    warnOnce,
    async finish() {
      if (fault !== undefined) return;
      await reconciler.finish();
      const difference = reconciler.difference();
      if (difference === undefined) return;
      await warnOfDifference(difference);
      await emitDaemonEvents(tools.interrupt());
    },
    isCaughtUp: reconciler.isCaughtUp,
    counts: () => counts,
    fault: () => fault,
  };
}

function describeDifference({ line }: Difference): string {
  const where = line === undefined ? "the end of the output" : `line ${line.number} of ${line.source}`;
  return `Since a restart turnd translates ${where} differently: what was logged stays, and what follows is translated anew.`;
}
