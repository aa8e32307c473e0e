import type { ReadEvent } from "../../client/parse-event.ts";
import { lookUp } from "../../protocol/index.ts";
import { count, formatBytes, safeLine } from "../../../kit/command-line/text.ts";
import { indent, line, type ShowOptions } from "./lines.ts";
import type { Style } from "./style.ts";

type ToolStarted = Extract<ReadEvent, { type: "tool.started" }>["data"];
type ToolEnded = Extract<ReadEvent, { type: "tool.ended" }>["data"];

/** Limits of a tool's output or a diff without `--full`. */
const MOST_LINES = 40;
const MOST_CHARACTERS = 8_000;
const MOST_TITLE = 200;
const CHANGES = { add: "added", update: "changed", delete: "deleted" } as const;

/** The title of a tool call, on one line: `execute: sh sum.sh`. */
export function toolTitle({ kind, name, title, input, locations }: ToolStarted): string {
  const command = kind === "execute" ? commandOf(input) : undefined;
  const about = command ?? locations?.map(({ path }) => path).join(", ") ?? title ?? "";
  const what = kind === "other" || kind === "mcp" || kind === "subagent" ? `${kind}: ${name}` : kind;
  return safeLine(cut(about === "" ? `${what}: ${title ?? name}` : `${what}: ${about}`, MOST_TITLE));
}

/** A tool call's changes and output, and how it ended where it did not succeed. */
export function showToolEnd(data: ToolEnded, { style, isFull }: ShowOptions): string {
  const { kind, status, output, exit_code: exitCode, changes = [], error } = data;
  const limit = (text: string): string => (isFull ? text : shorten(text));
  const shown = changes.map(({ path, change, diff }) => {
    const what = lookUp(CHANGES, change) ?? change;
    return line(`  ${what} ${safeLine(path)}`) + (diff === undefined ? "" : showDiff(limit(diff), style));
  });
  // An edit's output repeats its changes.
  if (output !== undefined && output.text.trim() !== "" && changes.length === 0) {
    const isRead = kind === "read" && !isFull;
    shown.push(
      isRead
        ? line(style.dim(`  ${count(output.text.trimEnd().split("\n").length, "line")}`))
        : indent(limit(output.text), "  ", style.dim),
    );
    if (output.truncated) shown.push(line(style.dim("  … cut by the CLI")));
  }
  if (status !== "completed") {
    const code = exitCode === undefined ? "" : `, exit code ${exitCode}`;
    const why = error === undefined ? "" : `: ${safeLine(limit(error))}`;
    shown.push(line(style.bad(`  ${status}${code}${why}`)));
  }
  return shown.join("");
}

/** A unified diff, its lines in the colours that they have everywhere. */
export function showDiff(diff: string, style: Style): string {
  return indent(diff, "  ", (text) => `  ${paintLine(text.slice(2), style)}`);
}

/** A unified diff without indentation, for commands that print only a diff. */
export function paintDiff(diff: string, style: Style): string {
  return indent(diff, "", (text) => paintLine(text, style));
}

function paintLine(text: string, style: Style): string {
  if (/^(?:\+\+\+|---|diff --git) /.test(text)) return style.bold(text);
  if (text.startsWith("@@")) return style.heading(text);
  if (text.startsWith("+")) return style.good(text);
  return text.startsWith("-") ? style.bad(text) : text;
}

function commandOf(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("command" in input)) return undefined;
  const { command } = input;
  if (Array.isArray(command)) return command.join(" ");
  if (typeof command !== "string") return undefined;
  // Without the shell around it, wherever that lies. A command that is quoted in parts stays as it is.
  const [, single, double, bare] = /^\S*\/\w*sh -l?c (?:'([^']*)'|"([^"\\]*)"|([^'"\s]+))$/.exec(command) ?? [];
  return single ?? double ?? bare ?? command;
}

/** The beginning of a long text, cut between lines where possible, and how much is missing. */
function shorten(text: string): string {
  const lines = text.trimEnd().split("\n");
  const kept = cut(lines.slice(0, MOST_LINES).join("\n"), MOST_CHARACTERS);
  const leftOut = text.trimEnd().length - kept.length;
  return leftOut <= 0 ? text : `${kept}\n… ${formatBytes(leftOut)} more (--full)`;
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\ud800-\udbff]/.test(text[length - 1] ?? "") ? length - 1 : length;
  return `${text.slice(0, end)}…`;
}
