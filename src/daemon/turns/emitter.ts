import type { EventLog } from "../event-log/event-log.ts";
import type { NewEvent } from "../event-log/sequence.ts";
import type { TranslatedEvent } from "../executors/executor.ts";
import type { Progress } from "./progress.ts";

/** Puts a turn's events into its log, past what an earlier daemon has logged of them. */
export interface Emitter {
  /** Events of the translator: those logged before are passed over, so that a record half logged is completed. */
  translated(events: readonly TranslatedEvent[]): Promise<void>;
  /** Events of turnd's own. */
  own(events: readonly NewEvent[]): Promise<void>;
  /** Whether all that an earlier daemon has logged has been passed over; at once where there was none. */
  isCaughtUp(): boolean;
  /** The disk would not take an event; nothing has been logged since. */
  fault(): Error | undefined;
}

const STORAGE_ERRORS = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO", "EFBIG", "EACCES"]);

/** Whether an error means that a disk is full, read-only or broken. */
export function isStorageError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string" && STORAGE_ERRORS.has(error.code);
}

export interface EmitterOptions {
  readonly log: EventLog;
  readonly progress: Progress;
  readonly onWritten: (count: number) => void;
  readonly onPassedOver: (count: number) => void;
  /** Told once that the disk does not take events any more; what was written is kept. */
  readonly onFault: () => void;
}

/** Makes the emitter of a turn. */
export function createEmitter({ log, progress, onWritten, onPassedOver, onFault }: EmitterOptions): Emitter {
  let [fromLines, atEnd] = [progress.fromLines, progress.atEnd];
  let fault: Error | undefined;

  function isLogged(event: TranslatedEvent): boolean {
    if (event.native !== undefined) return fromLines-- > 0;
    return event.type === "tool.ended" && atEnd-- > 0;
  }
  async function own(events: readonly NewEvent[]): Promise<void> {
    if (fault !== undefined || events.length === 0) return;
    try {
      await log.append(events);
      onWritten(events.length);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      fault = error;
      onFault();
    }
  }

  return {
    translated(events) {
      const fresh = events.filter((event) => !isLogged(event));
      if (fresh.length < events.length) onPassedOver(events.length - fresh.length);
      return own(fresh);
    },
    own,
    isCaughtUp: () => fromLines <= 0,
    fault: () => fault,
  };
}
