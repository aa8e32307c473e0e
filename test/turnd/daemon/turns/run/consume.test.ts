import { expect, test } from "vitest";
import type { FailureDraft } from "../../../../../src/turnd/daemon/executors/contract/failures.ts";
import type { OutputLine } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { findExecutor } from "../../../../../src/turnd/daemon/executors/registry.ts";
import type { OutputBatch } from "../../../../../src/turnd/daemon/process/output/follow.ts";
import { consumeOutput } from "../../../../../src/turnd/daemon/turns/run/consume.ts";

const SESSION = "01a1fd18-0000-7000-8000-000000000000";

/** What a resumed CLI B comes to that prints these lines, so many at once. */
async function consume(lines: Iterable<string>, atOnce = 1) {
  const executor = findExecutor("cli-b");
  if (executor === undefined) throw new Error("CLI B is not registered");
  const halts: FailureDraft[] = [];
  let emitted = 0;
  let boundaries = 0;
  const consumed = await consumeOutput({
    translator: executor.createTranslator({ requestedSession: SESSION }),
    output: () => batches(lines, atOnce),
    isHeldUntilBound: true,
    emit: async (events) => void (emitted += events.length),
    report(report) {
      if (report.type === "halted") halts.push(report.halt);
      if (report.type === "step_boundary") boundaries += 1;
    },
    outcome: () => Promise.resolve({ exit: { code: 0, signal: null }, wasStopped: halts.length > 0 }),
  });
  return { consumed, halts, emitted: () => emitted, boundaries: () => boundaries };
}

async function* batches(lines: Iterable<string>, atOnce: number): AsyncGenerator<OutputBatch> {
  let number = 0;
  let batch: OutputLine[] = [];
  for (const text of lines) {
    number += 1;
    batch.push({ source: "stdout", number, text, isTruncated: false });
    if (batch.length < atOnce) continue;
    yield { lines: batch, stdoutBytes: text.length + 1, stderrBytes: 0 };
    batch = [];
  }
}

function* repeat(line: string, times: number): Generator<string> {
  for (let count = 0; count < times; count += 1) yield line;
}

test.each([
  ["many lines", "?", 30_000],
  ["long lines", "?".repeat(1_000_000), 100],
])(
  "a resumed process that prints %s without naming its session is stopped, and no client sees them",
  async (_, line, times) => {
    const { consumed, halts, emitted } = await consume(repeat(line, times));
    expect(halts.map(({ code }) => code)).toEqual(["resume_degraded"]);
    expect([consumed.hasEmitted, emitted()]).toEqual([false, 0]);
  },
);

test("what is printed before the session is named is passed on once it is", async () => {
  const { consumed, halts, emitted } = await consume([
    ...repeat("?", 1_000),
    `{"type":"thread.started","thread_id":"${SESSION}"}`,
  ]);
  expect(halts).toEqual([]);
  expect([consumed.hasEmitted, emitted()]).toEqual([true, 1_001]);
});

test("a step boundary counts only where nothing has come after it", async () => {
  const tool = (type: "started" | "completed", id: string, status: string): string =>
    `{"type":"item.${type}","item":{"id":"${id}","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"${status}"}}`;
  const lines = [
    `{"type":"thread.started","thread_id":"${SESSION}"}`,
    tool("started", "item_0", "in_progress"),
    tool("completed", "item_0", "completed"),
    tool("started", "item_1", "in_progress"),
  ];
  expect((await consume(lines, 4)).boundaries()).toBe(0);
  expect((await consume(lines, 1)).boundaries()).toBe(1);
  expect((await consume([...lines, "", tool("completed", "item_1", "completed"), ""], 7)).boundaries()).toBe(1);
});

test("what a resumed process printed that failed before it named its session is passed on", async () => {
  const failed = `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}`;
  const { consumed, halts, emitted } = await consume(["?", failed]);
  expect(halts).toEqual([]);
  expect(consumed.ending.failure?.code).toBe("auth_failed");
  expect([consumed.hasEmitted, emitted()]).toEqual([true, 1]);
});
