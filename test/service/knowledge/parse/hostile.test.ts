import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ParseFailed } from "../../../../src/service/knowledge/parse/failures.ts";
import type { Parser } from "../../../../src/service/knowledge/parse/parser.ts";
import { mustRead, readDocument, readHere, startParser } from "./harness.ts";
import { HEAVY_FILES, HOSTILE_FILES } from "./hostile-files.ts";

const MIB = 1024 * 1024;

let parser: Parser;
/** With no time for what need not be read. */
let hasty: Parser;
const ended: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const start = async (timeoutMs: number): Promise<Parser> => {
    const started = await startParser({ children: 1, timeoutMs, outputBytes: 8 * MIB });
    ended.push(started.end);
    return started.parser;
  };
  [parser, hasty] = [await start(60_000), await start(4_000)];
});
afterAll(async () => void (await Promise.all(ended.map((end) => end()))));

test.each(HOSTILE_FILES)("$filename: $name", async ({ filename, ends, make }) => {
  const result = await readHere(filename, make());
  if (result instanceof ParseFailed) expect(ends, result.message).toContain(result.code);
  else {
    expect(ends).toContain("read");
    expect(result.trim()).not.toBe("");
  }
});

test.each(HEAVY_FILES)("$filename: $name, within the limits of a child", async ({ filename, ends, make }) => {
  const bytes = make();
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 50);
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const result = await readDocument(ends.includes("parser_timeout") ? hasty : parser, filename, bytes);
  delay.disable();
  clearInterval(watch);
  expect(ends, result instanceof ParseFailed ? result.message : "read").toContain(
    result instanceof ParseFailed ? result.code : "read",
  );
  if (result instanceof ParseFailed) expect(result.message.length).toBeLessThanOrEqual(500);
  else expect(result.markdown.trim()).not.toBe("");
  expect(most - before).toBeLessThan(300 * MIB);
  // One second on an idle machine; this one may run other tests.
  expect(delay.max / 1e6).toBeLessThan(5_000);
});

test("the next file is read as if nothing had been", async () => {
  expect((await mustRead(parser, "a.txt", "hello")).markdown).toBe("hello\n");
});
