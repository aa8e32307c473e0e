import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CliBRecord, readRecord } from "../../../src/daemon/executors/cli-b/records/record.ts";
import { REPOSITORY } from "../../harness/temporary.ts";

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
