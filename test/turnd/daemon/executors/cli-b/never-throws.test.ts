import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Outcome, OutputLine } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { TurnEvent } from "../../../../../src/turnd/protocol/index.ts";
import { listRecordings } from "../recordings.ts";

const fixtures = listRecordings(resolve(import.meta.dirname, "../../../../../fixtures"), "cli-b");
const real = fixtures.flatMap(({ directory }) =>
  ["stdout.jsonl", "stderr.log"].flatMap((file) =>
    readFileSync(join(directory, file), "utf8").split("\n").slice(0, 40),
  ),
);

const itemType = fc.constantFrom(
  "agent_message",
  "reasoning",
  "command_execution",
  "file_change",
  "mcp_tool_call",
  "collab_tool_call",
  "web_search",
  "todo_list",
  "error",
  "hologram",
);
const recordType = fc.constantFrom(
  "thread.started",
  "turn.started",
  "item.started",
  "item.updated",
  "item.completed",
  "turn.completed",
  "turn.failed",
  "error",
  "nonsense",
);
/** Records that are nearly right: real names with values of any kind. */
const nearlyRecord = fc
  .record(
    {
      type: recordType,
      thread_id: fc.anything(),
      message: fc.oneof(fc.string(), fc.anything()),
      error: fc.anything(),
      usage: fc.anything(),
      item: fc.record(
        {
          id: fc.string(),
          type: itemType,
          text: fc.string(),
          status: fc.string(),
          command: fc.string(),
          changes: fc.array(fc.record({ path: fc.string(), kind: fc.string() })),
          server: fc.string(),
          tool: fc.string(),
          arguments: fc.jsonValue(),
          result: fc.option(fc.record({ content: fc.array(fc.jsonValue()) })),
          query: fc.string(),
          items: fc.array(fc.record({ text: fc.string(), completed: fc.boolean() })),
          message: fc.string(),
        },
        { requiredKeys: ["id", "type"] },
      ),
    },
    { requiredKeys: ["type"] },
  )
  .map((record) => JSON.stringify(record, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)));

const cutLine = fc
  .tuple(fc.constantFrom(...real), fc.nat(400), fc.nat(400))
  .map(([line, from, length]) => line.slice(from, from + length));
const text = fc.oneof(fc.string(), fc.json(), nearlyRecord, cutLine, fc.constantFrom(...real));
const line = fc.record({ text, source: fc.constantFrom("stdout", "stderr"), isTruncated: fc.boolean() });
const exit = fc.option(
  fc.oneof(
    fc.record({ code: fc.integer({ min: 0, max: 255 }), signal: fc.constant(null) }),
    fc.record({ code: fc.constant(null), signal: fc.constantFrom("SIGKILL", "SIGINT") }),
  ),
);

/** Plays lines and gives back all it came to. */
function playLines(lines: readonly Omit<OutputLine, "number">[], outcome: Outcome) {
  const translator = cliB.createTranslator({ requestedSession: null });
  const events = lines.flatMap((part, index) => translator.push({ ...part, number: index + 1 }).events);
  const ending = translator.end(outcome);
  return { events: [...events, ...ending.events], ending };
}

test("whatever the lines hold, translating them throws nothing and gives events of the protocol", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), exit, fc.boolean(), (lines, ended, wasStopped) => {
      const { events } = playLines(lines, { exit: ended, wasStopped });
      for (const { native: _, ...event } of events) expect(TurnEvent.safeParse(event).error).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});

test("the same lines give the same events", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), exit, (lines, ended) => {
      const outcome = { exit: ended, wasStopped: false };
      expect(playLines(lines, outcome)).toEqual(playLines(lines, outcome));
    }),
    { numRuns: 100 },
  );
});

test("a turn is completed only with a turn.completed, and with exit code 0 where turnd did not end it", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), exit, fc.boolean(), (lines, ended, wasStopped) => {
      const { ending } = playLines(lines, { exit: ended, wasStopped });
      if (ending.failure !== undefined) return;
      if (!wasStopped) expect(ended?.code).toBe(0);
      expect(lines.some((part) => part.text.includes("turn.completed"))).toBe(true);
    }),
    { numRuns: 200 },
  );
});
