import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type { Ending } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import type { FailureDraft } from "../../../../../src/turnd/daemon/executors/contract/failures.ts";
import { concludeTurn } from "../../../../../src/turnd/daemon/turns/outcome/conclude.ts";
import { EndedBy } from "../../../../../src/turnd/daemon/turns/lifecycle/turn-file.ts";
import { listRecordings, play, type Recording } from "../recordings.ts";

const recordings = listRecordings(join(import.meta.dirname, "../../../../../fixtures"), "cli-a");

function conclude(recording: Recording, ending: Ending, halt: FailureDraft | undefined) {
  return concludeTurn({
    endedBy: EndedBy.parse(recording.turn.ended_by),
    ending,
    ...(halt === undefined ? {} : { halt }),
    exit: recording.exit,
    isDegraded: false,
  });
}

/** The labels count input without cached tokens, and output as the version printed it. */
function toLabelUsage({ usage }: Ending, version: string) {
  const sum = usage ?? {
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
  };
  return {
    input_tokens: sum.input_tokens - sum.cached_input_tokens - sum.cache_write_tokens,
    output_tokens: version === "1.3.2" ? sum.output_tokens : sum.output_tokens - sum.reasoning_tokens,
    reasoning_tokens: sum.reasoning_tokens,
    cache_read_tokens: sum.cached_input_tokens,
    cache_write_tokens: sum.cache_write_tokens,
  };
}

const played = recordings.map((recording) => {
  const { events, ending, halts } = play(cliA, recording);
  const conclusion = conclude(recording, ending, halts > 0 ? ending.failure : undefined);
  return { name: recording.name, recording, expected: recording.expected, events, ending, halts, conclusion };
});
/** What another session printed is not passed on, and the labels count it. */
const own = played.filter(({ ending }) => ending.failure?.rule !== "session-mismatch");
const finished = own.filter(({ expected, halts }) => halts === 0 && expected.usage !== null);

describe("the recordings of CLI A", () => {
  test("are all there", () => {
    expect(recordings.length).toBeGreaterThanOrEqual(138);
  });

  test.each(played)("$name ends as labelled", ({ expected, conclusion }) => {
    const code = conclusion.failure?.code ?? null;
    expect(conclusion.status, `${code}: ${conclusion.failure?.message}`).toBe(expected.status);
    if (expected.status === "failed") expect([expected.code, ...expected.also]).toContain(code);
  });

  test("have their first code, not only a defensible one", () => {
    const failed = played.filter(({ expected }) => expected.status === "failed");
    const others = failed.filter(({ expected, conclusion }) => conclusion.failure?.code !== expected.code);
    expect(others.map(({ name, conclusion }) => `${name} ${conclusion.failure?.code}`)).toEqual([]);
  });

  test.each(played)("$name shows the session as labelled", ({ expected, ending, events }) => {
    const bound = events.filter((event) => event.type === "session.bound");
    // A label looks at stdout alone; the log knows the session before.
    const isOnlyLogged = bound[0]?.native?.source === "stderr" && expected.native_session_id === null;
    if (!isOnlyLogged) expect(ending.nativeSessionId).toBe(expected.native_session_id);
    expect(ending.isResumed).toBe(expected.resumed ?? false);
    const isStranger = ending.failure?.rule === "session-mismatch";
    expect(bound).toHaveLength(ending.nativeSessionId === null || isStranger ? 0 : 1);
  });

  test.each(own)("$name holds the answer and the calls as labelled", ({ expected, ending, events }) => {
    expect(ending.output).toBe(expected.final_text);
    const calls = events.filter((event) => event.type === "tool.ended").map((event) => event.data.tool_call_id);
    expect(new Set(calls).size).toBe(expected.tool_calls);
    expect(calls).toHaveLength(expected.tool_calls);
    expect(events.filter((event) => event.type === "record.unknown")).toHaveLength(expected.unknown_records);
  });

  test.each(finished)("$name adds up the usage as labelled", ({ recording, expected, ending, events }) => {
    const { steps, cost, ...tokens } = expected.usage ?? {};
    expect(toLabelUsage(ending, recording.turn.cli_version)).toEqual(tokens);
    expect(ending.costUsd ?? 0).toBeCloseTo(cost ?? 0, 9);
    expect(events.filter((event) => event.type === "step.ended")).toHaveLength(steps ?? 0);
  });
});
