import { defined } from "../../../../../kit/defined.ts";
import { readAnswerBody } from "../../providers/answer-body.ts";
import type { Fact } from "../../contract/failures.ts";

/** Said of a provider's message: whether the turn had an item before it. */
export const AFTER_ITEMS = "after items";
export const BEFORE_ITEMS = "before any item";
/** Said of an exit: whether the last record was `turn.completed`. */
export const AFTER_COMPLETION = "after turn.completed";
export const WITHOUT_COMPLETION = "without turn.completed";

/** Said of a line of stderr: of the CLI's start, of what came after it, of the log, or the last line that is logged. */
export const START_UP = "start-up message";
export const LATER = "later message";
export const LOGGED = "log";
export const LAST_LOGGED = "last log line";

/** Every sentence that names an HTTP status. */
const STATUS = /(?:unexpected status|last status:|\(status) (\d{3})\b/;
/** What the provider said, between the CLI's words around it. */
const REFUSED = /^unexpected status \d{3}[^:,]*(?:: (.*?))?(?:, url: .*)?$/s;
/** Of a sentence that names a status: its words are no words of the provider's. */
const ADDRESS = /^(unexpected status \d{3}.*?)(?:, url: .*)$/s;
/** What the CLI puts before the cause where it was to compact the conversation. */
const COMPACTION = /^Error running (?:remote|local) compact task: /;
/** A 400 is handed on as its raw body. Source: docs/contracts/cli-b.md §5. */
const RAW_BODY = /^\s*(?:[{["]|<!doctype|<html)/i;

/** Whether the turn failed while the CLI compacted the conversation. */
export function isOfCompaction({ on, words = "" }: Fact): boolean {
  return on === "record" && COMPACTION.test(words);
}

/**
 * Reads what a provider's failure says: CLI B puts the HTTP status into the sentence, and hands a 400 on as the raw body.
 *
 * @param at - where it stands; whether items came before it
 */
export function toProviderFact(words: string, at: { line: number; hasItems: boolean }): Fact {
  const message = words.replace(COMPACTION, "");
  const isRawBody = RAW_BODY.test(message);
  const handedOn = isRawBody ? message : REFUSED.exec(message)?.[1] || undefined;
  const body = handedOn === undefined ? undefined : readAnswerBody(handedOn);
  const named = STATUS.exec(message)?.[1];
  const status = named !== undefined ? Number(named) : isRawBody ? 400 : undefined;
  return {
    on: "record",
    source: "stdout",
    line: at.line,
    text: body?.sentence ?? handedOn ?? message.replace(ADDRESS, "$1"),
    words,
    name: at.hasItems ? AFTER_ITEMS : BEFORE_ITEMS,
    ...defined({ status }),
    ...defined({ code: body?.codes }),
  };
}
