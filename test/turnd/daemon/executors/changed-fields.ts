import type { OutputLine } from "../../../../src/turnd/daemon/executors/contract/translator.ts";

/** A field of a record, or a key of a line of the log. */
export interface Place {
  readonly source: OutputLine["source"];
  /** Index among the lines. */
  readonly line: number;
  /** The record's type, with its item's; "log" for stderr. */
  readonly kind: string;
  /** Keys joined by ".", without the numbers of lists. */
  readonly path: string;
}

/** What a later version does to it. */
export interface Change extends Place {
  readonly op: "rename" | "drop" | "add" | "retype";
  /** In every record of its kind, or in this one alone. */
  readonly everywhere: boolean;
}

type Json = ReturnType<typeof JSON.parse>;
const LOG = "log";
/** Keys of logfmt, and of the log of older versions. */
const KEY = /(?<=[ {,])"?([A-Za-z][\w.]*)"?(?==|":)/g;

/** Every field of every record, and every key of the log. */
export function listPlaces(lines: readonly OutputLine[]): Place[] {
  return lines.flatMap(({ source, text }, line): Place[] => {
    if (source === "stderr") {
      const keys = new Set([...text.slice(0, 2_000).matchAll(KEY)].map(([, key = ""]) => key));
      return [...keys].map((path) => ({ source, line, kind: LOG, path }));
    }
    const record = parse(text);
    if (record === undefined) return [];
    const paths = new Set<string>();
    visit(record, "", (_, __, path) => paths.add(path));
    return [...paths].map((path) => ({ source, line, kind: kindOf(record), path }));
  });
}

/** The lines after a change. */
export function change(lines: readonly OutputLine[], made: Change): OutputLine[] {
  return lines.map((line, index) => {
    if (line.source !== made.source || !(made.everywhere || index === made.line)) return line;
    return { ...line, text: made.source === "stderr" ? changeLog(line.text, made) : changeRecord(line.text, made) };
  });
}

function changeLog(text: string, { op, path }: Change): string {
  const pattern = new RegExp(`(?<=[ {,])("?)${path.replaceAll(".", "\\.")}("?)(?==|":)`, "g");
  if (op === "retype") return text;
  if (op === "rename") return text.replace(pattern, "$1renamed_key$2");
  if (op === "drop")
    return text.replace(new RegExp(` ${path.replaceAll(".", "\\.")}=(?:"(?:[^"\\\\]|\\\\.)*"|\\S*)`, "g"), "");
  return text.replace(pattern, (key) => (key.startsWith('"') ? `"added_key":5,${key}` : `added_key=5 ${key}`));
}

function changeRecord(text: string, { op, path, kind }: Change): string {
  const record = parse(text);
  if (record === undefined || kindOf(record) !== kind) return text;
  const found: { holder: Json; key: string }[] = [];
  visit(record, "", (holder, key, at) => {
    if (at === path) found.push({ holder, key });
  });
  for (const { holder, key } of found) {
    if (op === "add") holder["added_field"] = { deep: [1, "two"] };
    else if (op === "retype") holder[key] = toOtherType(holder[key]);
    else {
      if (op === "rename") holder["renamed_field"] = holder[key];
      delete holder[key];
    }
  }
  return JSON.stringify(record);
}

/** A value of another type: what was a word becomes a number, a number a word, a structure a word, and so on. */
function toOtherType(value: Json): Json {
  if (typeof value === "string") return 5;
  if (typeof value === "number") return String(value);
  return value === null || typeof value === "boolean" ? ["other"] : "other";
}

function visit(value: Json, path: string, see: (holder: Json, key: string, path: string) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    const at = Array.isArray(value) ? path : path === "" ? key : `${path}.${key}`;
    if (!Array.isArray(value)) see(value, key, at);
    visit(value[key], at, see);
  }
}

function kindOf(record: Json): string {
  const item = typeof record.item?.type === "string" ? `/${record.item.type}` : "";
  return `${String(record.type)}${item}`;
}

function parse(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
