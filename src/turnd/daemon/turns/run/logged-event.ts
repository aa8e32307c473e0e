import { z } from "zod";
import { Native } from "../../../protocol/index.ts";
import { readEvents } from "../../event-log/read-events.ts";
import { splitLine } from "../../event-log/split-line.ts";
import { stringifyRedacted } from "../../event-log/redact-value.ts";
import { MASK, type Redact } from "../../event-log/redact.ts";
import type { TranslatedEvent } from "../../executors/contract/translator.ts";

const Head = z.object({ seq: z.int(), at: z.string(), type: z.string(), native: Native.loose().optional() });
const Whole = Head.extend({ data: z.looseObject({}) });

/** An event as a log has it, as far as a recovery needs it: another version of turnd may have written the rest. */
export interface LoggedEvent extends z.infer<typeof Head> {
  /** Its data as it stands in the log. */
  readonly json: string;
  /** The same, parsed. */
  data(): z.infer<typeof Whole>["data"];
}

/** The events of a log that an earlier daemon left, which may be empty. Of each the data is parsed when it is asked for. */
export async function* readLogged(path: string): AsyncGenerator<LoggedEvent> {
  const signal = new AbortController().signal;
  for await (const lines of readEvents(path, { afterSeq: 0, isFollowing: false, signal })) {
    for (const line of lines) yield toLogged(line.bytes.toString("utf8"));
  }
}

function toLogged(text: string): LoggedEvent {
  const whole = () => Whole.parse(JSON.parse(text));
  const split = splitLine(text);
  const head = Head.safeParse(split?.head).data;
  if (split !== undefined && head !== undefined) return { ...head, json: split.data, data: () => whole().data };
  const { data, ...rest } = whole();
  return { ...rest, json: JSON.stringify(data), data: () => data };
}

/** Whether an event came from a translator, not from turnd itself. What a translator adds at the end names no line. */
export function isTranslated({ native, type }: Pick<LoggedEvent, "native" | "type">): boolean {
  return native !== undefined || type === "tool.ended" || type === "message.discarded";
}

/**
 * Whether a translation equals what is logged.
 *
 * Secrets were taken out of what is logged: by those of now, or by those an earlier daemon knew.
 */
export function isSameEvent(logged: LoggedEvent, event: TranslatedEvent, redact: Redact): boolean {
  if (logged.type !== event.type || !isSameNative(logged.native, event.native)) return false;
  const json = JSON.stringify(event.data);
  if (logged.json === json) return true;
  if (!logged.json.includes(MASK)) return false;
  return logged.json === stringifyRedacted(event.data, redact) || isSameText(logged.json, json);
}

function isSameNative(logged: LoggedEvent["native"], native: Native | undefined): boolean {
  if (logged?.line !== native?.line || logged?.source !== native?.source) return false;
  return isSameText(logged?.type ?? "", native?.type ?? "") && isSameText(logged?.id ?? "", native?.id ?? "");
}

/** Whether a text is what a logged one was before secrets were taken out of that; few secrets have a space in them. */
export function isSameText(logged: string, text: string): boolean {
  if (logged === text) return true;
  const [first = "", ...parts] = logged.split(MASK);
  const last = parts.pop();
  if (last === undefined || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  for (const [index, part] of [...parts, last].entries()) {
    const at = index === parts.length ? text.length - part.length : text.indexOf(part, from + 1);
    if (at <= from || /\s/.test(text.slice(from, at))) return false;
    from = at + part.length;
  }
  return true;
}
