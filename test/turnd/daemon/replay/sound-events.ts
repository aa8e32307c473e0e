import { createHash } from "node:crypto";
import { expect } from "vitest";
import { isBlank } from "../../../../src/turnd/daemon/executors/contract/json-line.ts";
import { LoggedEvent } from "../../../../src/turnd/protocol/index.ts";
import type { Played } from "./play-bytes.ts";

/** What must hold of every replay, whatever was printed; gives back the events, read. */
export function expectSound({ lines, ended }: Played, stdout: string | Buffer): LoggedEvent[] {
  const events = lines.map((line) => LoggedEvent.parse(JSON.parse(line)));
  // An event that is read and written again is the same bytes.
  expect(lines.map((line) => JSON.stringify(JSON.parse(line)))).toEqual(lines);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type }) => type === "turn.ended")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: ended });
  const preceding = lines.slice(0, -1).map((line) => `${line}\n`);
  expect(ended.digest).toBe(createHash("sha256").update(preceding.join("")).digest("hex"));

  const printed = splitLines(stdout);
  const visible = printed.filter(isVisible);
  const unknown = events.flatMap((event) => (event.type === "record.unknown" ? [event] : []));
  const starts = events.filter(({ type }) => type === "tool.started").length;
  expect(ended.counts).toMatchObject({ events: events.length, records: visible.length, unknown: unknown.length });
  expect(events.filter(({ type }) => type === "tool.ended")).toHaveLength(starts);
  for (const { native, data } of unknown) expect(printed[(native?.line ?? 0) - 1]).toBe(data.line);
  // What is no record can be nothing but unknown.
  const kept = new Set(unknown.map(({ native }) => native?.line));
  expect(
    printed.flatMap((line, index) => (isVisible(line) && !mayBeRecord(line) && !kept.has(index + 1) ? [line] : [])),
  ).toEqual([]);
  return events;
}

/** As a reader that knows nothing of turnd would. */
function splitLines(stdout: string | Buffer): string[] {
  const lines = stdout.toString("utf8").split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** What an escape sequence is, hostile-lines.test.ts says. */
const hasEscape = (line: string): boolean => line.includes("\u001b");

function isVisible(line: string): boolean {
  return hasEscape(line) ? !isBlank(line) : line.trim() !== "";
}

function mayBeRecord(line: string): boolean {
  if (hasEscape(line)) return true;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null;
  } catch {
    // Then it is none.
    return false;
  }
}
