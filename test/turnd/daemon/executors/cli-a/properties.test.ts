import fc from "fast-check";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type { OutputLine } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { TurnEvent } from "../../../../../src/turnd/protocol/index.ts";
import { listRecordings, readLines } from "../recordings.ts";

const recordings = listRecordings(join(import.meta.dirname, "../../../../../fixtures"), "cli-a");
const realLines = recordings
  .flatMap(({ directory }) =>
    ["stdout.jsonl", "stderr.log"].flatMap((file) => readLines(join(directory, file), "stdout")),
  )
  .map(({ text }) => text)
  .filter((text) => text.length < 5_000);

/** A real line, whole, cut or with something replaced in it. */
const damaged = fc
  .tuple(fc.constantFrom(...realLines), fc.nat(5_000), fc.string({ maxLength: 8 }))
  .map(([line, at, noise]) =>
    at % 3 === 0 ? line : at % 3 === 1 ? line.slice(0, at) : line.slice(0, at) + noise + line.slice(at + noise.length),
  );
const json = fc.record(
  {
    type: fc.constantFrom("step_start", "text", "reasoning", "tool_use", "step_finish", "error", "other"),
    sessionID: fc.constantFrom("ses_a", "ses_b", 5),
    timestamp: fc.anything(),
    part: fc.oneof(
      fc.anything(),
      fc.record(
        {
          id: fc.string(),
          messageID: fc.string(),
          text: fc.anything(),
          tool: fc.constantFrom("bash", "edit", "todowrite", "invalid", "x_y", "__proto__", "constructor"),
          callID: fc.string(),
          state: fc.record(
            {
              status: fc.constantFrom("completed", "error", "running"),
              input: fc.anything(),
              output: fc.anything(),
              metadata: fc.anything(),
              error: fc.string(),
              time: fc.anything(),
            },
            { requiredKeys: [] },
          ),
          reason: fc.constantFrom("stop", "tool-calls", "unknown", "length"),
          tokens: fc.anything(),
          cost: fc.anything(),
        },
        { requiredKeys: [] },
      ),
    ),
    error: fc.anything(),
  },
  { requiredKeys: [] },
);
const value = fc.oneof(
  damaged,
  fc.string(),
  json.map((entry) => {
    try {
      return JSON.stringify(entry);
    } catch {
      // What JSON cannot hold cannot be printed either.
      return "";
    }
  }),
);
const line = fc.record({
  source: fc.constantFrom<OutputLine["source"]>("stdout", "stderr"),
  text: value.map((text) => text.replaceAll("\n", " ")),
  isTruncated: fc.boolean(),
});

function run(lines: readonly Omit<OutputLine, "number">[], requestedSession: string | null) {
  const translator = cliA.createTranslator({ requestedSession });
  const numbers = { stdout: 0, stderr: 0 };
  const events = lines.flatMap((entry) => {
    numbers[entry.source] += 1;
    return translator.push({ ...entry, number: numbers[entry.source] }).events;
  });
  const ending = translator.end({ exit: { code: 0, signal: null }, wasStopped: false });
  return { events: [...events, ...ending.events], ending };
}

test("whatever is printed, nothing throws and every event has the shape of the wire", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), fc.constantFrom(null, "ses_a", ""), (lines, requested) => {
      const { events } = run(lines, requested);
      for (const { native: _, ...event } of events) expect(() => TurnEvent.parse(event)).not.toThrow();
    }),
    { numRuns: 300 },
  );
});

test("the same lines give the same events", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      expect(run(lines, null)).toEqual(run(lines, null));
    }),
    { numRuns: 100 },
  );
});

test.each(recordings)("$name comes to the same end in any order of its two files", ({ directory, turn, exit }) => {
  const stdout = readLines(join(directory, "stdout.jsonl"), "stdout");
  const stderr = readLines(join(directory, "stderr.log"), "stderr");
  const ends = [
    [...stdout, ...stderr],
    [...stderr, ...stdout],
  ].map((lines) => {
    const translator = cliA.createTranslator({ requestedSession: turn.requested_session });
    const types = lines.flatMap((entry) => translator.push(entry).events.map(({ type }) => type));
    const ending = translator.end({ exit, wasStopped: turn.ended_by !== null });
    const all = [...types, ...ending.events.map(({ type }) => type)].toSorted();
    return { all, code: ending.failure?.code, rule: ending.failure?.rule, output: ending.output };
  });
  expect(ends[1]).toEqual(ends[0]);
});
