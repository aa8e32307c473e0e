import fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";
import { createLineSplitter } from "../../../../src/turnd/daemon/process/output/line-splitter.ts";
import type { CliName } from "../../../../src/turnd/protocol/index.ts";
import { listRecordings } from "../executors/recordings.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { playBytes } from "./play-bytes.ts";
import { expectSound } from "./sound-events.ts";

const RUNS = 150;

/** Lines the real CLI printed, each once. */
function realLines(executor: CliName, file: "stdout.jsonl" | "stderr.log"): string[] {
  const lines = listRecordings(join(REPOSITORY, "fixtures"), executor).flatMap(({ directory }) =>
    readFileSync(join(directory, file), "utf8").split("\n"),
  );
  return [...new Set(lines)].filter((line) => line !== "" && line.length < 20_000);
}

/** Values that a field may have been meant for anything but. */
const hostileValue = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 0.5, 1e308, 2 ** 53, "", [], {}, [null], "\ud800", "\u0000"),
  fc.constantFrom("__proto__", "constructor", "ses_other", "completed", "stop", "[".repeat(2_000)),
  fc.constant("x".repeat(100_000)),
  fc.jsonValue(),
  fc.integer({ min: 100, max: 3_000 }).map((depth) => nested(depth)),
);

function nested(depth: number): unknown {
  return JSON.parse(`${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`);
}

/** Another value for one field of a record, at any depth; or a field left out. */
const swapped = (lines: readonly string[]) =>
  fc.tuple(fc.constantFrom(...lines), fc.nat(), hostileValue, fc.boolean()).map(([line, which, value, isRemoved]) => {
    const places: { readonly holder: Record<string, unknown>; readonly key: string }[] = [];
    const record = parse(line, (holder, key) => places.push({ holder, key }));
    const place = places[which % Math.max(1, places.length)];
    if (place === undefined) return line;
    if (isRemoved) delete place.holder[place.key];
    else place.holder[place.key] = value;
    return toJson(record) ?? line;
  });

function parse(line: string, onField: (holder: Record<string, unknown>, key: string) => void): unknown {
  try {
    return JSON.parse(line, function (this: Record<string, unknown>, key, value: unknown) {
      if (key !== "") onField(this, key);
      return value;
    });
  } catch {
    // A line that is no record has no fields.
    return undefined;
  }
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // Too deep for this writer; a hostile CLI has others, which the fixed tests play.
    return undefined;
  }
}

/** Bytes of real lines, some of them changed as a broken disk, a cut write or a stray print would. */
const output = (lines: readonly string[]) => {
  const line = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...lines) },
    { weight: 4, arbitrary: swapped(lines) },
    fc.tuple(fc.constantFrom(...lines), fc.nat(400)).map(([text, end]) => text.slice(0, end)),
    fc
      .tuple(fc.constantFrom(...lines), fc.constantFrom(...lines), fc.nat(300))
      .map(([a, b, at]) => a.slice(0, at) + b.slice(at)),
    fc
      .tuple(
        fc.constantFrom(...lines),
        fc.nat(300),
        fc.constantFrom("\u001b[31m", "\u001b]0;x\u0007", "\u001b", "\u0000", "\r", "\u{1f600}", "\u2028"),
      )
      .map(([text, at, noise]) => text.slice(0, at) + noise + text.slice(at)),
    fc.string({ unit: "binary", maxLength: 40 }).map((text) => text.replaceAll("\n", "")),
  );
  const flip = fc.record({ at: fc.nat(), byte: fc.nat(255) });
  return fc
    .record({
      lines: fc.array(line, { maxLength: 25 }),
      ending: fc.constantFrom("\n", "\r\n", "\n\n"),
      isWhole: fc.boolean(),
      flips: fc.array(flip, { maxLength: 4 }),
    })
    .map(({ lines: parts, ending, isWhole, flips }) => {
      const bytes = Buffer.from(parts.join(ending) + (isWhole ? ending : ""));
      for (const { at, byte } of flips) if (bytes.length > 0) bytes[at % bytes.length] = byte;
      return bytes;
    });
};

test.each(["cli-a", "cli-b"] as const)(
  "%s: whatever becomes of its output, every line of it is accounted for",
  async (executor) => {
    const property = fc.asyncProperty(
      output(realLines(executor, "stdout.jsonl")),
      output(realLines(executor, "stderr.log")),
      async (stdout, stderr) => {
        expectSound(await playBytes(executor, stdout, stderr), stdout);
      },
    );
    await fc.assert(property, { numRuns: RUNS });
  },
);

test.each(["cli-a", "cli-b"] as const)("%s: damaged output gives the same events wherever it is cut", (executor) => {
  const property = fc.property(
    output(realLines(executor, "stdout.jsonl")),
    fc.array(fc.nat(), { maxLength: 8 }),
    (stdout, cuts) => {
      const borders = [0, ...cuts.map((cut) => cut % (stdout.length + 1)).toSorted((a, b) => a - b), stdout.length];
      const chunks = borders.slice(1).map((end, index) => stdout.subarray(borders[index], end));
      expect(translate(executor, chunks)).toEqual(translate(executor, [stdout]));
    },
  );
  fc.assert(property, { numRuns: RUNS });
});

function translate(executor: CliName, chunks: readonly Buffer[]): unknown {
  const translator = findExecutor(executor)?.createTranslator({ requestedSession: null });
  // A limit that some of these lines exceed.
  const splitter = createLineSplitter("stdout", 50_000);
  const lines = [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.flush()];
  return [lines.map((line) => translator?.push(line)), translator?.end({ exit: null, wasStopped: false })];
}
