import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CliBRecord, readRecord } from "../../../../../src/turnd/daemon/executors/cli-b/records/record.ts";
import { REPOSITORY } from "../../../../harness/temporary.ts";

const lines = globSync("fixtures/cli-b/*/*/stdout.jsonl", { cwd: REPOSITORY }).flatMap((path) =>
  readFileSync(join(REPOSITORY, path), "utf8").split("\n"),
);
const item = { id: "item_1", type: "agent_message", text: "a text" };

test("a text is read as the schema reads it, whatever is recorded", () => {
  const texts = lines.filter((line) => /"(?:agent_message|reasoning)"/.test(line)).filter(isJson);
  expect(texts.length).toBeGreaterThan(50);
  for (const line of texts) {
    const read = readRecord(line);
    const judged = CliBRecord.safeParse(JSON.parse(line));
    expect(read.kind === "record" ? read.record : undefined).toEqual(judged.data);
  }
});

/** Records of a text, most of them as CLI B prints them. */
const record = fc.record(
  {
    id: fc.oneof(fc.constantFrom("item_1", "", "a-b", 'q"', "\\", "x".repeat(65)), fc.string()),
    type: fc.constantFrom("agent_message", "reasoning", "error"),
    text: fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('"}}', '"', "\\", "\n", 'a","b":"c'), fc.constant(7)),
    more: fc.constantFrom("text", 1),
  },
  { requiredKeys: ["id", "type", "text"] },
);
const edit = fc.record({
  at: fc.nat(200),
  cut: fc.nat(3),
  put: fc.constantFrom("", '"', "}", "{", ",", "\\", " ", "\u001b[0m", '","type":"reasoning","text":"', "\u0000"),
});

test("and so is any line that is nearly one", () => {
  fc.assert(
    fc.property(record, fc.array(edit, { maxLength: 2 }), (inner, edits) => {
      const whole = JSON.stringify({ type: "item.completed", item: inner });
      const line = edits.reduce((text, { at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut), whole);
      // JSON that begins with a space is read the long way.
      expect(readRecord(line)).toEqual(readRecord(` ${line}`));
    }),
    { numRuns: 5_000 },
  );
});

test.each([
  ["without a text", { ...item, text: undefined }],
  ["whose text is none", { ...item, text: 7 }],
  ["without an id", { ...item, id: undefined }],
  ["whose id is none", { ...item, id: null }],
])("one %s is the schema's to judge", (_, broken) => {
  expect(readRecord(JSON.stringify({ type: "item.completed", item: broken }))).toMatchObject({
    kind: "unknown",
    reason: "bad_shape",
  });
});

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
