import { z } from "zod";
import type { Fact } from "../rules.ts";

/** Said of a provider's message: whether the turn had an item before it. */
export const AFTER_ITEMS = "after items";
export const BEFORE_ITEMS = "before any item";
/** Said of an exit: whether the last record was `turn.completed`. */
export const AFTER_COMPLETION = "after turn.completed";
export const WITHOUT_COMPLETION = "without turn.completed";

const text = z.string().optional().catch(undefined);
const ErrorFields = z.object({ code: text, type: text }).optional().catch(undefined);
const Body = z.object({ error: ErrorFields, code: text, type: text });

const STATUS = /(?:unexpected status|last status:) (\d{3})\b/;
const EMBEDDED_BODY = /^unexpected status \d{3} [^:]*: (\{.*\})(?:, url: .*)?$/s;

/**
 * Reads what a provider's failure says: CLI B puts the HTTP status into the sentence, and hands a 400 on as the raw body.
 *
 * @param at - where it stands; whether items came before it
 */
export function toProviderFact(message: string, at: { line: number; hasItems: boolean }): Fact {
  const status = STATUS.exec(message)?.[1];
  const code = readCode(EMBEDDED_BODY.exec(message)?.[1] ?? message);
  return {
    on: "record",
    source: "stdout",
    line: at.line,
    text: message,
    name: at.hasItems ? AFTER_ITEMS : BEFORE_ITEMS,
    ...(status === undefined ? {} : { status: Number(status) }),
    ...(code === undefined ? {} : { code }),
  };
}

function readCode(body: string): string | undefined {
  if (!body.startsWith("{")) return undefined;
  try {
    const parsed = Body.safeParse(JSON.parse(body));
    if (!parsed.success) return undefined;
    const { error, code, type } = parsed.data;
    return error?.code ?? error?.type ?? code ?? type;
  } catch {
    // A body cut off by the CLI has no code to read; the text is still looked at.
    return undefined;
  }
}
