import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { truncateToValidPrefix } from "../../../../src/turnd/daemon/event-log/truncate-to-valid-prefix.ts";
import { newPath } from "./open-log.ts";

const line = (seq: number): string => `{"seq":${seq},"type":"message"}\n`;

test.each([
  ["a line is missing, with whole ones behind it", line(1) + line(3) + line(4), line(1)],
  ["a line stands there twice", line(1) + line(2) + line(2) + line(3), line(1) + line(2)],
  ["zeros stand where a line was", `${line(1)}${"\0".repeat(20)}\n${line(3)}`, line(1)],
  ["the last line is torn", line(1) + line(2).slice(0, -3), line(1)],
  ["the first line is not the first", line(2) + line(3), ""],
  ["nothing is wrong", line(1) + line(2), line(1) + line(2)],
])("a log is cut behind what is whole where %s", async (_, text, whole) => {
  const path = newPath();
  writeFileSync(path, text);
  const lines = whole.split("\n").length - 1;
  expect(await truncateToValidPrefix(path)).toEqual({
    sizeBytes: whole.length,
    lines,
    last: lines === 0 ? undefined : { seq: lines, type: "message" },
    cutBytes: text.length - whole.length,
  });
  expect(readFileSync(path, "utf8")).toBe(whole);
});
