import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCliATranslator } from "../../../../../src/turnd/daemon/executors/cli-a/translate/translate.ts";
import { REPOSITORY } from "../../../../harness/temporary.ts";

/** Whether a tool is at work after each line of a recording's log that says something of it, and what that line is. */
function readSigns(fixture: string): string[] {
  const translator = createCliATranslator({ requestedSession: null });
  const lines = readFileSync(join(REPOSITORY, "fixtures/cli-a", fixture, "stderr.log"), "utf8").split("\n");
  return lines.flatMap((text, index) => {
    translator.push({ source: "stderr", number: index + 1, text, isTruncated: false });
    const sign =
      /permission=(\w+) .*evaluated$|message=evaluated permission=(\w+)|agent=(\w+) .*stream$|message=stream .*agent=(\w+)/
        .exec(text)
        ?.slice(1)
        .find((word) => word !== undefined);
    if (sign === undefined || sign === "title") return [];
    return [`${sign}: ${translator.activity?.().hasOpenTool === true ? "at work" : "none"}`];
  });
}

test.each([
  ["1.3.2/subagent-with-log", ["build: none", "task: at work", "general: at work", "bash: at work"]],
  ["1.18.33/subagent", ["build: none", "task: at work", "general: at work", "bash: at work"]],
])("a tool is at work from its begin until the turn's own session asks again: %s", (fixture, begin) => {
  expect(readSigns(fixture)).toEqual([...begin, "general: at work", "build: none"]);
});

test("what a subagent asks again without a tool in between is no work", () => {
  const signs = readSigns("1.14.34/subagent-rate-limited");
  expect(signs.slice(0, 4)).toEqual(["build: none", "task: at work", "general: at work", "general: none"]);
  expect(signs.slice(4)).not.toContain("general: at work");
});

test("a tool that nobody is there to allow is none", () => {
  expect(readSigns("1.18.33/subagent-permission-rejected")).toContain("bash: none");
});
