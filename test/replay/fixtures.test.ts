import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LoggedEvent } from "../../src/protocol/index.ts";
import { listRecordings, SHARED_RECORDINGS, type Recording } from "../executors/recordings.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { replayLines } from "./replay-lines.ts";

const FIXTURES = ["cli-a", "cli-b"].flatMap((executor) => listRecordings(join(REPOSITORY, "fixtures"), executor));

test("there are at least 40 fixtures of each CLI", () => {
  const count = (executor: string): number => FIXTURES.filter(({ turn }) => turn.executor === executor).length;
  expect([count("cli-a") >= 40, count("cli-b") >= 40]).toEqual([true, true]);
});

describe.each(FIXTURES)("$name", ({ directory, expected }) => {
  test("gives the events beside it", async () => {
    const { text } = await replayLines(directory);
    expect(text.split("\n")).toEqual(readFileSync(join(directory, "events.jsonl"), "utf8").split("\n"));
  });

  test("gives valid events that end in one turn.ended, as its label says", async () => {
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

const shared = ["cli-a", "cli-b"].flatMap((executor) => listRecordings(SHARED_RECORDINGS, executor));

test.runIf(shared.length > 0)(
  "at least 95 % of the shared recordings' codes, and every status, are as labelled",
  async () => {
    const wrong: string[] = [];
    let codes = 0;
    for (const { name, directory, expected } of shared satisfies Recording[]) {
      const { ended } = await replayLines(directory);
      const code = ended.failure?.code ?? null;
      const isCode = code === expected.code || (code !== null && expected.also.includes(code));
      codes += Number(isCode);
      if (!isCode || ended.status !== expected.status)
        wrong.push(`${name}: ${ended.status} ${code}, labelled ${expected.status} ${expected.code}`);
      expect([name, ended.status]).toEqual([name, expected.status]);
    }
    expect(codes / shared.length, wrong.join("\n")).toBeGreaterThanOrEqual(0.95);
  },
);
