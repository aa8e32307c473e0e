import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import { TurnEvent } from "../../../../../src/turnd/protocol/index.ts";
import { listRecordings, play, type Recording } from "../recordings.ts";

const FIXTURES = resolve(import.meta.dirname, "../../../../../fixtures");
const recordings = listRecordings(FIXTURES, "cli-b");

/** What `turns/` makes of it: turnd's own acts count unless the CLI's words prove the cause. */
function conclude(recording: Recording): { status: string; code: string | null } {
  const { ending } = play(cliB, recording);
  const { ended_by: endedBy } = recording.turn;
  if (endedBy === "cancel") return { status: "cancelled", code: null };
  if (ending.failure === undefined) return { status: "completed", code: null };
  const code = endedBy === null || ending.failure.isProven ? ending.failure.code : endedBy;
  return { status: "failed", code };
}

describe("the recordings of CLI B", () => {
  test.each(recordings)("$name is read as labelled", (recording) => {
    const { expected } = recording;
    const { events, ending, halts } = play(cliB, recording);
    const { status, code } = conclude(recording);

    expect(status).toBe(expected.status);
    expect([expected.code, ...expected.also]).toContain(code);
    expect(ending.nativeSessionId).toBe(expected.native_session_id);
    expect(ending.isResumed).toBe(expected.resumed ?? false);
    const unknown = events.filter((event) => event.type === "record.unknown");
    expect(unknown).toHaveLength(expected.unknown_records);
    // Another session's thread is stopped at its first line: its further output is not passed on (docs/design.md §4).
    if (halts > 0) return expect(events).toEqual([]);

    expect(ending.output).toBe(expected.final_text);
    const calls = new Set(events.flatMap((event) => (event.type === "tool.ended" ? [event.data.tool_call_id] : [])));
    expect(calls.size).toBe(expected.tool_calls);
    if (expected.usage === null) return expect(ending.usage).toBeUndefined();
    const { usageAfter } = ending;
    const printed = usageAfter && {
      input_tokens: usageAfter.input_tokens,
      cached_input_tokens: usageAfter.cached_input_tokens,
      output_tokens: usageAfter.output_tokens,
      reasoning_output_tokens: usageAfter.reasoning_tokens,
      ...("cache_write_input_tokens" in expected.usage && { cache_write_input_tokens: usageAfter.cache_write_tokens }),
    };
    expect(printed).toEqual(expected.usage);
  });

  test.each(recordings)("$name gives events of the protocol, every tool closed once", (recording) => {
    const { events } = play(cliB, recording);
    for (const { native: _, ...event } of events) expect(TurnEvent.safeParse(event).error).toBeUndefined();
    const ids = (type: "tool.started" | "tool.ended"): string[] =>
      events.flatMap((event) => (event.type === type ? [event.data.tool_call_id] : []));
    expect(ids("tool.ended").toSorted()).toEqual(ids("tool.started").toSorted());
  });

  test("the exact code, not only a defensible one, is given for every recording", () => {
    const other = recordings
      .filter((recording) => conclude(recording).code !== recording.expected.code)
      .map((recording) => `${recording.name}: ${conclude(recording).code} instead of ${recording.expected.code}`);
    expect(other).toEqual([]);
  });
});

test("every fixture of CLI B has the files of a recording", () => {
  expect(recordings.length).toBeGreaterThanOrEqual(109);
  for (const { name, directory } of recordings) {
    for (const file of ["stdout.jsonl", "stderr.log", "exit.json", "turn.json", "expected.json"]) {
      expect(existsSync(join(directory, file)), `${name}/${file}`).toBe(true);
    }
  }
});
