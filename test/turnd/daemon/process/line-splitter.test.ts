import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineSplitter, type SplitLine } from "../../../../src/turnd/daemon/process/output/line-splitter.ts";

function split(chunks: readonly Buffer[], maxLineBytes: number): SplitLine[] {
  const splitter = createLineSplitter("stdout", maxLineBytes);
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.flush()];
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index]));
}

test("lines are the same wherever the bytes are cut into chunks", () => {
  const piece = fc.oneof(
    fc.constant("\n"),
    fc.constant("\r\n"),
    fc.string({ unit: "binary" }),
    fc.constant("x".repeat(50)),
  );
  fc.assert(
    fc.property(
      fc.array(piece),
      fc.array(fc.nat()),
      fc.uint8Array(),
      fc.integer({ min: 1, max: 60 }),
      (pieces, cuts, noise, maxLineBytes) => {
        const bytes = Buffer.concat([Buffer.from(pieces.join("")), noise]);
        expect(split(cutAt(bytes, cuts), maxLineBytes)).toEqual(split([bytes], maxLineBytes));
      },
    ),
    { numRuns: 2_000 },
  );
});

test("no byte of valid text is lost or added", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.array(fc.nat()), (parts, cuts) => {
      const text = parts.join("\n");
      const lines = split(cutAt(Buffer.from(text), cuts), 1_000_000).map((line) => line.text);
      expect(lines.join("\n")).toBe(text.endsWith("\n") ? text.slice(0, -1) : text);
    }),
  );
});

test("a line beyond the limit keeps its head and is marked, and the next line is whole", () => {
  const lines = split([Buffer.from(`${"a".repeat(200_000)}\nnext\n`)], 100_000);
  expect(lines.map((line) => [line.text.length, line.isTruncated])).toEqual([
    [65_536, true],
    [4, false],
  ]);
});

test("invalid UTF-8 stays inside its line", () => {
  expect(split([Buffer.from([0x61, 0xff, 0x0a, 0xe2, 0x82]), Buffer.from([0x0a, 0x62, 0x0a])], 100)).toEqual([
    { source: "stdout", number: 1, text: "a\u{fffd}", isTruncated: false },
    { source: "stdout", number: 2, text: "\u{fffd}", isTruncated: false },
    { source: "stdout", number: 3, text: "b", isTruncated: false },
  ]);
});
