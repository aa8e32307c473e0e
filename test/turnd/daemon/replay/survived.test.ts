import { join } from "node:path";
import { expect, test } from "vitest";
import { LoggedEvent } from "../../../../src/turnd/protocol/index.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { replayLines } from "./replay-lines.ts";

async function replay(name: string) {
  const { text, ended } = await replayLines(join(REPOSITORY, "fixtures", name));
  const events = text
    .trimEnd()
    .split("\n")
    .map((line) => LoggedEvent.parse(JSON.parse(line)));
  return {
    ended,
    messages: events.flatMap((event) => (event.type === "message" ? [event.data.text] : [])),
    reasoning: events.flatMap((event) => (event.type === "reasoning" ? [event.data.text] : [])),
    retries: events.flatMap((event) => (event.type === "retry" ? [event.data.code] : [])),
    warnings: events.flatMap((event) => (event.type === "warning" ? [event.data.code] : [])),
    steps: events.flatMap((event) => (event.type === "step.started" ? [event.data.index] : [])),
    tools: events.flatMap((event) => (event.type === "tool.ended" ? [event.data.status] : [])),
  };
}

/** What a run got over: the codes of its retries, and every message it has shown. */
const RECOVERED = [
  { name: "cli-a/1.3.2/rate-limited-then-answered", codes: ["rate_limited", "rate_limited"] },
  { name: "cli-a/1.14.34/rate-limited-then-answered", codes: ["rate_limited", "rate_limited"] },
  { name: "cli-a/1.14.34/subagent-rate-limited", codes: ["rate_limited", "rate_limited"] },
  { name: "cli-a/1.3.2/stream-cut-recovered", codes: ["network_error"] },
  { name: "cli-a/1.14.34/stream-cut-recovered", codes: ["network_error"] },
  { name: "cli-a/1.3.2/stream-cut-after-text-recovered", codes: ["network_error", "network_error"] },
  { name: "cli-a/1.14.34/stream-cut-after-text-recovered", codes: ["network_error", "network_error"] },
  { name: "cli-b/0.139.0/stream-cut-recovered", codes: ["network_error", "network_error"] },
  { name: "cli-b/0.139.0/stream-cut-after-message-recovered", codes: ["network_error"] },
];

test.each(RECOVERED)("$name is completed, and counts what it survived", async ({ name, codes }) => {
  const { ended, retries, warnings } = await replay(name);
  expect([ended.status, ended.failure]).toEqual(["completed", undefined]);
  expect(retries).toEqual(codes);
  expect(ended.counts.retries).toBe(codes.length);
  // A notice of a retry is no warning besides.
  expect(warnings).toEqual([]);
});

test.each(RECOVERED)("$name shows each message and each step once", async ({ name }) => {
  const { messages, reasoning, steps } = await replay(name);
  for (const texts of [messages, reasoning]) expect(texts).toEqual([...new Set(texts)]);
  expect(steps).toEqual(steps.map((_, index) => index));
});

test.each(["cli-a/1.3.2/stream-cut-after-text-recovered", "cli-a/1.14.34/stream-cut-after-text-recovered"])(
  "%s: what was printed three times is shown once, and the calls that came to nothing are interrupted",
  async (name) => {
    const { ended, reasoning, messages, tools } = await replay(name);
    expect(reasoning).toEqual(["I think first."]);
    expect(messages).toEqual(["I will write a note.", "Done."]);
    expect(tools).toEqual(["completed", "interrupted", "interrupted"]);
    expect(ended.output).toBe("Done.");
  },
);

test.each([
  "cli-a/1.3.2/compaction-with-log",
  "cli-a/1.14.34/compaction-with-log",
  "cli-a/1.14.34/context-overflow-with-log",
])("%s reports the compaction once", async (name) => {
  expect((await replay(name)).warnings).toEqual(["context_compacted"]);
});

test.each([
  {
    name: "cli-a/1.3.2/compaction-with-log",
    shown: ["The context is full.", "Summary: nothing is left to do.", "Done."],
  },
  {
    name: "cli-a/1.14.34/compaction-with-log",
    shown: ["The context is full.", "Summary: nothing is left to do.", "Done."],
  },
  { name: "cli-a/1.3.2/compaction", shown: ["big usage", "big usage", "Hello from mock."] },
  { name: "cli-b/0.139.0/auto-compaction", shown: ["Done."] },
])("$name is completed, without what the CLI wrote in the person's name", async ({ name, shown }) => {
  const { ended, messages } = await replay(name);
  expect(ended.status).toBe("completed");
  expect(messages).toEqual(shown);
});

test.each([
  "cli-a/1.3.2/context-overflow",
  "cli-a/1.14.34/context-overflow",
  "cli-b/0.139.0/rate-limited",
  "cli-b/0.139.0/context-overflow",
  "cli-b/0.139.0/server-error",
])("%s: an error that is printed twice is reported once, as the failure", async (name) => {
  const { ended, warnings } = await replay(name);
  expect(ended.failure?.evidence).toHaveLength(1);
  expect(warnings).toEqual([]);
});
