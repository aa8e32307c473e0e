import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { OutputLine } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { boundOutput } from "../../../../../src/turnd/daemon/turns/run/output-bound.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const line = (number: number): OutputLine => ({ source: "stdout", number, text: "{}", isTruncated: false });

test("output beyond the limit is reported, and cut off where nothing writes any more", async () => {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "stdout.jsonl"), "x".repeat(150));
  writeFileSync(join(directory, "stderr.log"), "y".repeat(100));
  const onBeyond = vi.fn<() => void>();
  const bound = boundOutput({ maxBytes: 100, logBytes: () => 0, onBeyond });
  bound.observe({ lines: [line(1)], stdoutBytes: 100, stderrBytes: 100 });
  expect([onBeyond.mock.calls.length, bound.abandoned.aborted]).toEqual([0, false]);
  bound.observe({ lines: [line(2)], stdoutBytes: 101, stderrBytes: 100 });
  expect([onBeyond.mock.calls.length, bound.abandoned.aborted]).toEqual([1, false]);
  await bound.cut(directory);
  expect(readFileSync(join(directory, "stdout.jsonl"))).toHaveLength(100);
  expect(readFileSync(join(directory, "stderr.log"))).toHaveLength(100);
});

test("a log that has grown beyond what an output may become ends the reading, and what was not read is cut off", async () => {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "stdout.jsonl"), "{}\n".repeat(10));
  writeFileSync(join(directory, "stderr.log"), "");
  const onBeyond = vi.fn<() => void>();
  let logBytes = 400;
  const bound = boundOutput({ maxBytes: 100, logBytes: () => logBytes, onBeyond });
  bound.observe({ lines: [line(1)], stdoutBytes: 3, stderrBytes: 0 });
  expect([bound.isLogFull(), bound.abandoned.aborted, onBeyond.mock.calls.length]).toEqual([false, false, 0]);
  logBytes = 401;
  bound.observe({ lines: [line(2), line(3)], stdoutBytes: 9, stderrBytes: 0 });
  expect([bound.isLogFull(), bound.abandoned.aborted, onBeyond.mock.calls.length]).toEqual([true, true, 1]);
  await bound.cut(directory);
  expect(readFileSync(join(directory, "stdout.jsonl"), "utf8")).toBe("{}\n".repeat(3));
});
