import { prettyFactory } from "pino-pretty";
import { safeLine, safeText } from "../../kit/command-line/text.ts";

/** Fields of every line that a person does not need. */
const OMITTED = new Set(["level", "time", "pid", "hostname", "name", "msg"]);

/**
 * Writes a line of the log for a person: `15:04:05 WARN executor cannot run turns  executor=cli-a  reason=…`.
 *
 * What other programs have printed is quoted in it, and is made harmless to the terminal.
 * @param hasColors - whether the terminal takes colours
 */
export function createReadableLog(hasColors: boolean): (line: string) => string {
  const format = prettyFactory({
    colorize: hasColors,
    translateTime: "SYS:HH:MM:ss",
    ignore: "pid,hostname,name",
    hideObject: true,
    messageFormat: (log) => formatLogLine(log),
  });
  return (line) => format(line);
}

function formatLogLine(log: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(log).filter(([key]) => !OMITTED.has(key) && key !== "err");
  const text = [show(log["msg"] ?? ""), ...fields.map(([key, value]) => `${safeLine(key)}=${show(value)}`)];
  const stack = stackOf(log["err"]);
  return text.join("  ") + (stack === undefined ? "" : `\n${safeText(stack)}`);
}

function show(value: unknown): string {
  return safeLine(typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined"));
}

function stackOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { stack, message } = { stack: undefined, message: undefined, ...error };
  return typeof stack === "string" ? stack : typeof message === "string" ? message : JSON.stringify(error);
}
