import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LoggedEvent } from "../../../../src/turnd/protocol/index.ts";
import { listRecordings } from "../executors/recordings.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { replayLines } from "./replay-lines.ts";

const FIXTURES = ["cli-a", "cli-a-server", "cli-b", "cli-b-server"].flatMap((executor) =>
  listRecordings(join(REPOSITORY, "fixtures"), executor),
);

test("there are at least 40 fixtures of each CLI, and of its server", () => {
  const count = (root: string): number => FIXTURES.filter(({ name }) => name.startsWith(`${root}/`)).length;
  expect(["cli-a", "cli-a-server", "cli-b", "cli-b-server"].map((root) => count(root) >= 40)).toEqual([
    true,
    true,
    true,
    true,
  ]);
});

describe.each(FIXTURES)("$name", ({ directory, expected }) => {
  test("gives the events beside it", async () => {
    const { text } = await replayLines(directory);
    expect(text.split("\n")).toEqual(readFileSync(join(directory, "events.jsonl"), "utf8").split("\n"));
  });

  test("gives valid events that end in one turn.ended, as labelled", async () => {
    const { text, ended } = await replayLines(directory, { keepsOrder: true });
    const events = text
      .trimEnd()
      .split("\n")
      .map((line) => LoggedEvent.parse(JSON.parse(line)));
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter((event) => event.type === "turn.ended")).toHaveLength(1);
    expect(events.at(-1)?.type).toBe("turn.ended");
    const opened = events.filter((event) => event.type === "tool.started").length;
    expect(events.filter((event) => event.type === "tool.ended")).toHaveLength(opened);
    expect(ended.status).toBe(expected.status);
    expect([expected.code, ...expected.also]).toContain(ended.failure?.code ?? null);
  });
});
