import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { findLine } from "../../../../src/turnd/daemon/event-log/find-line.ts";
import { readEvents } from "../../../../src/turnd/daemon/event-log/read-events.ts";

const line = (seq: number, text: string): string =>
  `{"v":1,"seq":${seq},"at":"2026-11-22T08:00:00.000Z","turn_id":"t","session_id":"s","executor":"cli-b","type":"message","data":${JSON.stringify({ message_id: "m", text })}}\n`;

function fileOf(content: string): string {
  const directory = mkdtempSync(join(tmpdir(), "turnd-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "events.jsonl");
  writeFileSync(path, content);
  return path;
}

async function seqsAfter(path: string, afterSeq: number): Promise<number[]> {
  const seqs: number[] = [];
  const { signal } = new AbortController();
  for await (const lines of readEvents(path, { afterSeq, isFollowing: false, signal })) {
    for (const { seq, bytes } of lines) {
      expect(JSON.parse(bytes.toString()).seq).toBe(seq);
      seqs.push(seq);
    }
  }
  return seqs;
}

/** Counts the bytes that are read. */
function counting(file: FileHandle): { readonly file: FileHandle; bytes(): number } {
  let bytes = 0;
  const proxy = new Proxy(file, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        const result: unknown = await Reflect.apply(value, target, args);
        if (name === "read" && typeof result === "object" && result !== null && "bytesRead" in result) {
          bytes += Number(result.bytesRead);
        }
        return result;
      };
    },
  });
  return { file: proxy, bytes: () => bytes };
}

test("a reader gets exactly the lines after its cursor, whatever the lengths of lines are", async () => {
  // Short ones, and some that are longer than any chunk; text that looks like the beginning of a line.
  const lengths = fc.array(
    fc.oneof(
      { weight: 20, arbitrary: fc.nat(400) },
      { weight: 2, arbitrary: fc.integer({ min: 60_000, max: 200_000 }) },
    ),
    { minLength: 1, maxLength: 300 },
  );
  await fc.assert(
    fc.asyncProperty(lengths, fc.nat(), async (sizes, cursor) => {
      const fake = '\n{"v":1,"seq":7,"at":"';
      const lines = sizes.map((size, at) => line(at + 1, `${fake}${"x".repeat(size)}`));
      const afterSeq = cursor % (lines.length + 2);
      const expected = Array.from({ length: Math.max(0, lines.length - afterSeq) }, (_, at) => afterSeq + at + 1);
      // A torn tail is no line.
      expect(await seqsAfter(fileOf(lines.join("") + line(lines.length + 1, "torn").slice(0, -30)), afterSeq)).toEqual(
        expected,
      );
    }),
    { numRuns: 60 },
  );
});

test("a line near the end of a large log is found by reading a small part of it", async () => {
  const count = 60_000;
  const content = Array.from({ length: count }, (_, at) => line(at + 1, "y".repeat(at % 300))).join("");
  const path = fileOf(content);
  const opened = await open(path);
  onTestFinished(() => opened.close());
  const counted = counting(opened);
  const found = await findLine(counted.file, count - 10, Buffer.byteLength(content));
  expect(found.seq).toBeLessThanOrEqual(count - 10);
  expect(Buffer.byteLength(content) - found.offset).toBeLessThan(200_000);
  expect(counted.bytes()).toBeLessThan(200_000);
  expect(await seqsAfter(path, count - 10)).toHaveLength(10);
});

test.each([
  ["too large a number", line(99_999_999, "z".repeat(100))],
  ["no number", "garbage\n"],
])("where lines show %s they are counted", async (_, shown) => {
  const opened = await open(fileOf(shown.repeat(30_000)));
  onTestFinished(() => opened.close());
  expect(await findLine(opened, 2_900, shown.length * 30_000)).toEqual({ offset: 0, seq: 1 });
});
