import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";

/** Whether one process could save what was said: the CLI goes on without, and a resume finds less than there was. */
export interface HistoryWatch {
  /** Recognises the CLI's report; undefined for anything else. It is passed on once. */
  read(message: string, native: Native): readonly TranslatedEvent[] | undefined;
  /** What the CLI reported; undefined when it reported no loss. */
  lost(): string | undefined;
}

/** 0.139.0 logs it only on stderr; 0.169.0 prints it as an item as well, just before the turn is completed. */
const NOT_SAVED =
  /^Failed to save the conversation transcript|rollout writer failed|failed to record rollout items: (?!thread \S+ not found$)/;

/** Creates a watch for one process. */
export function createHistoryWatch(): HistoryWatch {
  let lost: string | undefined;
  return {
    read(message, native) {
      if (!NOT_SAVED.test(message)) return undefined;
      if (lost !== undefined) return [];
      lost = message;
      const text = `the CLI could not write the session's history, later turns may not remember this one: ${message}`;
      return [{ ...warningEvent("history_not_saved", text), native }];
    },
    lost: () => lost,
  };
}
