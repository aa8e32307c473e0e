/** A line that CLI B's logger wrote. */
export interface LogLine {
  readonly level: "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE";
  /** Where in the CLI it was written; "" where the line does not show it. */
  readonly module: string;
  readonly message: string;
}

const HEAD = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*Z +(ERROR|WARN|INFO|DEBUG|TRACE) /;
const MODULE = /^([\w:.]+): /;
/** The name of a span, with its fields or without. */
const SPAN = /^[\w.-]+(?=[{:])/;
/** Spans have fields of any length; a line is read no further for them. */
const MAX_SPAN_CHARACTERS = 20_000;

/**
 * Reads a line of the log: its time, its level, the spans that it was written in, the module and the message.
 *
 * Spans stand there only where RUST_LOG lets them be recorded: `turn{model="m"}:tool{name=x}: codex_core::…: message`.
 * Linear in the length of the line.
 * @returns undefined for a line that is not the logger's
 */
export function readLogLine(text: string): LogLine | undefined {
  const [head, level] = HEAD.exec(text) ?? [];
  if (head === undefined || !isLevel(level)) return undefined;
  const rest = skipSpans(text.slice(head.length));
  const [module, name = ""] = MODULE.exec(rest) ?? [];
  return { level, module: name, message: module === undefined ? rest : rest.slice(module.length) };
}

function isLevel(word: string | undefined): word is LogLine["level"] {
  return word !== undefined;
}

/** What stands behind the spans; all of it where they do not end as spans do. */
function skipSpans(text: string): string {
  let at = 0;
  while (at < MAX_SPAN_CHARACTERS) {
    const name = SPAN.exec(text.slice(at, at + 200))?.[0];
    if (name === undefined) return text;
    at += name.length;
    const hasFields = text[at] === "{";
    if (hasFields) at = skipFields(text, at);
    // The two colons of a module's path.
    if (!hasFields && text[at + 1] === ":") return text;
    if (text[at] !== ":") return text;
    at += 1;
    if (text[at] !== " ") continue;
    const behind = text.slice(at + 1);
    // A name alone is a span only where a module comes behind it.
    return hasFields || /^\w+(?:::\w+)+: /.test(behind) ? behind : text;
  }
  return text;
}

/** The place behind the fields that begin here: braces count but within quotation marks. */
function skipFields(text: string, from: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = from; at < Math.min(text.length, from + MAX_SPAN_CHARACTERS); at += 1) {
    const character = text[at];
    if (isQuoted && character === "\\") at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === "{") depth += 1;
    else if (!isQuoted && character === "}" && (depth -= 1) === 0) return at + 1;
  }
  return text.length;
}
