import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRedactor } from "../../../../../src/turnd/daemon/event-log/redact.ts";
import { readRecords } from "../../../../../src/turnd/daemon/turns/store/raw-records.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const SECRET = "sk-SECRET-0123456789";
const redact = createRedactor([SECRET]);

function fileOf(content: string | Buffer): string {
  const path = join(temporaryDirectory(onTestFinished), "stdout.jsonl");
  writeFileSync(path, content);
  return path;
}

test("lines have the numbers of the file, whatever part of it is read", async () => {
  const path = fileOf(Array.from({ length: 10_000 }, (_, index) => `line ${index + 1}\n`).join(""));
  const some = await readRecords(path, { from: 9_999, limit: 1 }, redact);
  expect(some).toEqual({ records: [{ line: 9_999, text: "line 9999" }], has_more: true });
  const rest = await readRecords(path, { from: 9_999, limit: 1_000 }, redact);
  expect([rest.records.map(({ line }) => line), rest.has_more]).toEqual([[9_999, 10_000], false]);
  expect(await readRecords(path, { from: 10_001, limit: 1 }, redact)).toEqual({ records: [], has_more: false });
});

test("blank lines count, and a last line without a newline is given", async () => {
  const { records } = await readRecords(fileOf("a\n\nb"), { from: 1, limit: 10 }, redact);
  expect(records).toEqual([
    { line: 1, text: "a" },
    { line: 2, text: "" },
    { line: 3, text: "b" },
  ]);
});

test("secrets are taken out, also where a long line is cut in the middle of one", async () => {
  const long = `${"x".repeat(65_530)}${SECRET}${"y".repeat(100_000)}`;
  const { records } = await readRecords(
    fileOf(`{"key":"${SECRET}"}\nplain ${SECRET}\n${long}\n`),
    { from: 1, limit: 9 },
    redact,
  );
  expect(records.slice(0, 2).map(({ text }) => text)).toEqual(['{"key":"[redacted]"}', "plain [redacted]"]);
  expect(records[2]).toMatchObject({ line: 3, bytes: long.length });
  expect(records[2]?.text).not.toContain("sk-");
  expect(records[2]?.text.length).toBe(65_536);
});

test("a line of a gigabyte's kind takes no memory of its size, and lines after it are found", async () => {
  const path = fileOf(Buffer.concat([Buffer.alloc(30_000_000, "z"), Buffer.from("\nafter\n")]));
  const before = process.memoryUsage().arrayBuffers;
  const { records } = await readRecords(path, { from: 1, limit: 5 }, redact);
  expect(records.map(({ line, bytes }) => [line, bytes])).toEqual([
    [1, 30_000_000],
    [2, undefined],
  ]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000);
});

test("a missing file has no lines, and a directory in its place is refused", async () => {
  const directory = temporaryDirectory(onTestFinished);
  expect(await readRecords(join(directory, "none"), { from: 1, limit: 1 }, redact)).toEqual({
    records: [],
    has_more: false,
  });
  mkdirSync(join(directory, "odd"));
  await expect(readRecords(join(directory, "odd"), { from: 1, limit: 1 }, redact)).rejects.toThrow(/regular|EISDIR/);
});
