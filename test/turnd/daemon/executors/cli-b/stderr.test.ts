import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import { explainSandboxCheck } from "../../../../../src/turnd/daemon/executors/cli-b/records/sandbox-fault.ts";
import type { Ending, TranslatedEvent } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";

const STARTED = [
  '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}',
  '{"type":"turn.started"}',
];
const COMPLETED = '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}';
const AT = "2026-11-26T11:19:13.357074Z";
const SPANS =
  'session_loop{thread_id=01a2}:submission_dispatch{otel.name="op.dispatch.turn_input" submission.id="x"}:turn{model=m}: ';

interface Played {
  readonly events: readonly TranslatedEvent[];
  readonly ending: Ending;
}

function play(stdout: readonly string[], stderr: readonly string[], code = 1): Played {
  const translator = cliB.createTranslator({ requestedSession: null });
  const push = (source: "stdout" | "stderr") => (text: string, index: number) =>
    translator.push({ source, number: index + 1, text, isTruncated: false }).events;
  const events = [...stdout.flatMap(push("stdout")), ...stderr.flatMap(push("stderr"))];
  return { events, ending: translator.end({ exit: { code, signal: null }, wasStopped: false }) };
}

describe("a line that RUST_LOG gives the spans it was logged in", () => {
  test.each([
    ["none", ""],
    ["with fields", SPANS],
    ["without fields", "session_loop:turn: "],
    ["with a text that has braces and quotation marks", 'tool{command="echo \\"}: \\" {" cwd=/}:turn{x={1}}: '],
  ])("is read like one without: %s", (_, spans) => {
    const rejected = `${AT} ERROR ${spans}codex_core::tools::router: error=patch rejected: writing is blocked by read-only sandbox`;
    const unsaved = `${AT} ERROR ${spans}codex_core::rollout: rollout writer failed: No space left on device`;
    expect(play([...STARTED, COMPLETED], [rejected, unsaved], 0).events.slice(1)).toMatchObject([
      { type: "permission.denied", data: { permission: "edit" } },
      { type: "warning", data: { code: "history_not_saved" } },
    ]);
  });

  test("whose fields do not end is a line of the log all the same", () => {
    const line = `${AT} INFO tool{command=echo }}{{ "`;
    expect(play([], [line, "Error loading config.toml: not really"]).ending.failure?.code).toBe("config_invalid");
    expect(play(STARTED, [line, "Error loading config.toml: not really"]).ending.failure?.code).toBe("crashed");
  });
});

describe("what a tool printed, within a line of the log", () => {
  const output = [
    `${AT}  INFO codex_otel.log_only: event.name="codex.tool_result" success=true output=Chunk ID: 4fc4fd`,
    "Output:",
    "Error loading config.toml: not really",
    "Error: No space left on device",
    "thread 'main' (12) panicked at src/main.rs:1:1:",
    "nobody expected this",
    "Error: turn/start: turn/start failed: Input exceeds the maximum length",
  ];

  test("decides nothing once there was a record", () => {
    const { failure } = play(STARTED, output).ending;
    expect(failure).toMatchObject({ code: "crashed", rule: "unexplained-exit" });
  });
});

test("what stops the CLI at its start decides before the first record alone", () => {
  const line = "Error loading config.toml: expected a value";
  expect(play([], [line]).ending.failure?.code).toBe("config_invalid");
  expect(play(STARTED, [line]).ending.failure?.code).toBe("crashed");
});

test("an input that is too large is refused after the first record", () => {
  const line =
    'Error: turn/start: turn/start failed: Input exceeds the maximum length of 1048576 characters. (code -32602), data: {"input_error_code":"input_too_large"}';
  expect(play(STARTED.slice(0, 1), [line]).ending.failure?.code).toBe("invalid_request");
});

test.each([
  [
    [
      "thread 'main' (12) panicked at src/main.rs:43:13:",
      "the moon is full",
      "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
    ],
  ],
  [["thread 'main' panicked at 'the moon is full', src/main.rs:43:13", "note: run with `RUST_BACKTRACE=1`"]],
])("a panic's reason is what it says, not the note about backtraces", (stderr) => {
  expect(play(STARTED, stderr, 101).ending.failure).toMatchObject({
    code: "crashed",
    message: "CLI B panicked: “the moon is full”",
  });
});

test("the last line that was logged is the evidence of an end that nothing explains", () => {
  const dead = `${AT} ERROR rmcp::transport::worker: worker quit with fatal: Transport channel closed`;
  const { failure } = play(STARTED, [`${AT} ERROR codex_core::other: something`, dead]).ending;
  expect(failure).toMatchObject({ code: "crashed", isProven: false, evidence: [{ source: "stderr", line: 2 }] });
  expect(failure?.message).toContain("Transport channel closed");
});

describe("a binary without its bubblewrap", () => {
  const printed =
    "\nthread 'main' (12) panicked at linux-sandbox/src/launcher.rs:43:13:\nbubblewrap is unavailable: no system bwrap was found on PATH and no bundled codex-resources/bwrap binary was found next to the Codex executable\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

  test("is reported with what helps, and the turn goes on", () => {
    const item = {
      id: "item_0",
      type: "command_execution",
      command: "make",
      aggregated_output: printed,
      exit_code: 101,
      status: "failed",
    };
    const { events, ending } = play([...STARTED, JSON.stringify({ type: "item.completed", item }), COMPLETED], [], 0);
    expect(ending.proof).toBeDefined();
    expect(events.filter(({ type }) => type === "warning")).toMatchObject([
      {
        data: {
          code: "sandbox_unavailable",
          message: expect.stringMatching(/bubblewrap is unavailable.*whole package/),
        },
      },
    ]);
  });

  test("is told by the check of the sandbox too", () => {
    expect(explainSandboxCheck(printed)).toMatchObject({
      message: expect.stringMatching(/^bubblewrap is unavailable/),
      remedy: expect.stringContaining("whole package"),
    });
    const other = "bwrap: Creating new namespace failed: Operation not permitted";
    expect(explainSandboxCheck(`${other}\n`)).toEqual({ message: other });
    expect(explainSandboxCheck("first\nlast\n")).toEqual({ message: "last" });
  });

  test("is not what a command's own panic is", () => {
    const output = "thread 'main' (1) panicked at src/main.rs:1:1:\nbubblewrap\nnote: x";
    const item = { id: "item_0", type: "command_execution", command: "x", aggregated_output: output, status: "failed" };
    expect(play([JSON.stringify({ type: "item.completed", item })], []).events.map(({ type }) => type)).not.toContain(
      "warning",
    );
  });
});

describe("what comes after turn.completed", () => {
  test.each([
    ["a message", '{"type":"item.completed","item":{"id":"item_10","type":"agent_message","text":"more"}}'],
    [
      "the end of a tool",
      '{"type":"item.completed","item":{"id":"item_3","type":"command_execution","command":"x","aggregated_output":"o","exit_code":0,"status":"completed"}}',
    ],
    ["a type that is not known", '{"type":"rate_limits.updated","rate_limits":{}}'],
  ])("does not undo the proof: %s", (_, record) => {
    const { ending } = play([...STARTED, COMPLETED, record], [], 0);
    expect(ending).toMatchObject({ proof: { evidence: [{ source: "stdout", line: 3 }, { source: "exit" }] } });
  });

  test.each([
    ["a failure", '{"type":"turn.failed","error":{"message":"no"}}'],
    ["an error", '{"type":"error","message":"no"}'],
    ["another turn", '{"type":"turn.started"}'],
  ])("does, where it is %s", (_, record) => {
    expect(play([...STARTED, COMPLETED, record], [], 0).ending.proof).toBeUndefined();
  });
});
