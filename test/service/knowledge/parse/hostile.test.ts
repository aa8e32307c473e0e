import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ParseFailed } from "../../../../src/service/knowledge/parse/failures.ts";
import type { Parser } from "../../../../src/service/knowledge/parse/parser.ts";
import { mustRead, readDocument, startParser } from "./harness.ts";
import { HOSTILE_FILES } from "./hostile-files.ts";

const MIB = 1024 * 1024;

let parser: Parser;
let end: () => Promise<void>;

beforeAll(async () => {
  ({ parser, end } = await startParser({ children: 1, timeoutMs: 20_000 }));
});
afterAll(async () => await end());

test.each(HOSTILE_FILES)("$filename: $name", async ({ filename, ends, make }) => {
  const bytes = make();
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 50);
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const result = await readDocument(parser, filename, bytes);
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
