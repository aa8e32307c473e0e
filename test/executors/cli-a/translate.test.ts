// Over 300 lines: one translator, a block for each of its record types; split, each part would need the same makers.
import { describe, expect, test } from "vitest";
import type { TranslatedEvent } from "../../../src/daemon/executors/contract/translator.ts";
import { error, OTHER_SESSION, record, SESSION, stepFinish, stepStart, text, tool, translate, types } from "./lines.ts";

const tokens = { total: 120, input: 70, output: 20, reasoning: 4, cache: { read: 30, write: 0 } };

function find<T extends TranslatedEvent["type"]>(events: readonly TranslatedEvent[], type: T) {
  return events.filter((event): event is TranslatedEvent & { type: T } => event.type === type);
}

describe("records", () => {
  test("a plain answer is a step with one message", () => {
    const { events, ending } = translate([stepStart(), text("Hello."), stepFinish("stop", { tokens })]);
    expect(types(events)).toEqual(["session.bound", "step.started", "message", "step.ended"]);
    expect(events[0]?.native).toMatchObject({ line: 1, type: "step_start" });
    expect(find(events, "step.ended")[0]?.data).toMatchObject({ index: 0, reason: "stop" });
    expect(ending).toMatchObject({ output: "Hello.", nativeSessionId: SESSION, isResumed: false });
    expect(ending.failure).toBeUndefined();
  });

  test("blank lines say nothing", () => {
    expect(translate(["", "   ", "\u001b[0m"]).events).toEqual([]);
  });

  test("escape sequences around a record do not hide it", () => {
    const { events } = translate([`\u001b[?25l\u001b]0;title\u0007${stepStart()}\u001b[0m`]);
    expect(types(events)).toEqual(["session.bound", "step.started"]);
  });

  test("a line that is not JSON, has no known type or another shape is kept", () => {
    const lines = ["plain words", record("later_type", { part: {} }), record("text", { part: {} }), "[1]", '"x"'];
    const { events } = translate(lines);
    const unknown = find(events, "record.unknown").map(({ data }) => data);
    expect(unknown.map(({ reason }) => reason)).toEqual([
      "not_json",
      "unknown_type",
      "bad_shape",
      "bad_shape",
      "bad_shape",
    ]);
    expect(unknown.map(({ line }) => line)).toEqual(lines);
  });

  test("a line that was too long is kept as not JSON, and is no proof of success", () => {
    const lines = [stepStart(), stepFinish("stop"), { cut: '{"type":"text","part":{"text":"aaaa' }];
    const { events, ending } = translate(lines);
    expect(find(events, "record.unknown")[0]?.data.reason).toBe("not_json");
    expect(ending.failure).toMatchObject({ code: "output_incomplete", isProven: false });
  });

  test("texts that the CLI wrote itself are dropped", () => {
    const { events, ending } = translate([
      stepStart(),
      text("answer"),
      stepFinish("stop"),
      text("Continue if you have next steps", { synthetic: true, messageID: "msg_2" }),
      text("for your eyes", { ignored: true, messageID: "msg_2" }),
    ]);
    expect(find(events, "message")).toHaveLength(1);
    expect(ending.output).toBe("answer");
  });

  test("two blocks of one message are one output", () => {
    expect(translate([stepStart(), text("one "), text("two")]).ending.output).toBe("one two");
  });

  test("a record that comes twice is shown once", () => {
    const line = text("once");
    expect(find(translate([stepStart(), line, line]).events, "message")).toHaveLength(1);
  });

  test("a step that is begun again after a cut is still the same step", () => {
    const { events } = translate([stepStart(), stepStart(), stepStart(), text("whole"), stepFinish("stop")]);
    expect(types(events)).toEqual(["session.bound", "step.started", "message", "step.ended"]);
  });

  test("a step of another message closes the one left open", () => {
    const { events } = translate([stepStart(), stepStart({ messageID: "msg_2" }), stepFinish("stop")]);
    expect(find(events, "step.ended").map(({ data }) => [data.index, data.reason])).toEqual([
      [0, "interrupted"],
      [1, "stop"],
    ]);
  });

  test("a step's end is a step boundary, but for the last step's, which ends the turn", () => {
    const { translations } = translate([stepStart(), text("x"), stepFinish("tool-calls"), stepFinish("stop")]);
    expect(translations.map(({ isStepBoundary }) => isStepBoundary ?? false)).toEqual([false, false, true, false]);
  });
});

describe("usage", () => {
  test("reasoning is counted once, whichever way the version prints it", () => {
    const included = translate([stepFinish("stop", { tokens })]).ending.usage;
    const excluded = translate([stepFinish("stop", { tokens: { ...tokens, output: 16 } })]).ending.usage;
    expect(included).toEqual({
      input_tokens: 100,
      cached_input_tokens: 30,
      cache_write_tokens: 0,
      output_tokens: 20,
      reasoning_tokens: 4,
    });
    expect(excluded).toEqual(included);
  });

  test("steps are added up, and so is what they cost", () => {
    const step = stepFinish("tool-calls", { tokens, cost: 0.001 });
    const { ending } = translate([step, stepFinish("stop", { tokens, cost: 0.002 })]);
    expect(ending.usage?.input_tokens).toBe(200);
    expect(ending.costUsd).toBeCloseTo(0.003);
  });

  test("what the provider does not say is unknown, not 0", () => {
    const zero = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
    const { ending, events } = translate([stepStart(), stepFinish("stop", { tokens: zero })]);
    expect(ending.usage).toBeUndefined();
    expect(ending.costUsd).toBeUndefined();
    expect(find(events, "step.ended")[0]?.data).toEqual({ index: 0, reason: "stop" });
  });
});

describe("tools", () => {
  test("one record gives the beginning and the end of a call", () => {
    const { events } = translate([
      tool("bash", {
        status: "completed",
        input: { command: "exit 3" },
        output: "ü\n",
        title: "run it",
        metadata: { exit: 3, truncated: false },
        time: { start: 10, end: 25 },
      }),
    ]);
    expect(types(events)).toEqual(["session.bound", "tool.started", "tool.ended"]);
    expect(find(events, "tool.ended")[0]?.data).toMatchObject({
      name: "bash",
      kind: "execute",
      title: "run it",
      status: "failed",
      exit_code: 3,
      duration_ms: 15,
      output: { text: "ü\n", bytes: 3, truncated: false },
    });
  });

  test("an edit shows its diff, a write whether the file is new", () => {
    const { events } = translate([
      tool("edit", {
        status: "completed",
        input: { filePath: "/w/a", oldString: "x", newString: "y" },
        metadata: { diff: "-x\n+y", filediff: { file: "/w/a" } },
      }),
      tool("write", {
        status: "completed",
        input: { filePath: "/w/b" },
        metadata: { filepath: "/w/b", exists: false },
      }),
    ]);
    expect(find(events, "tool.ended").map(({ data }) => data.changes)).toEqual([
      [{ path: "/w/a", change: "update", diff: "-x\n+y" }],
      [{ path: "/w/b", change: "add" }],
    ]);
    expect(find(events, "tool.started")[0]?.data.locations).toEqual([{ path: "/w/a" }]);
  });

  test.each([
    ["read", "read"],
    ["glob", "search"],
    ["webfetch", "fetch"],
    ["task", "subagent"],
    ["github_create_issue", "mcp"],
    ["todowrite", "plan"],
    ["apply_patch", "edit"],
    ["later", "other"],
  ])("the kind of %s is %s", (name, kind) => {
    const { events } = translate([tool(name, { status: "completed", title: "", attachments: [] })]);
    expect(find(events, "tool.started")[0]?.data.kind).toBe(kind);
  });

  test("a todo list is a call and a plan", () => {
    const todos = [{ content: "one", status: "in_progress", priority: "high", id: "1" }];
    const { events } = translate([tool("todowrite", { status: "completed", input: { todos }, metadata: { todos } })]);
    expect(types(events)).toEqual(["session.bound", "tool.started", "tool.ended", "plan.updated"]);
    expect(find(events, "plan.updated")[0]?.data.entries).toEqual([
      { content: "one", status: "in_progress", priority: "high" },
    ]);
  });

  test("a call of a tool that does not exist has failed", () => {
    const state = { status: "completed", input: { tool: "nosuch", error: "no such tool" }, output: "invalid" };
    expect(find(translate([tool("invalid", state)]).events, "tool.ended")[0]?.data).toMatchObject({
      status: "failed",
      error: "no such tool",
    });
  });

  test("a rule's refusal denies the call and names the permission", () => {
    const rules =
      '[{"permission":"*","action":"allow","pattern":"*"},{"permission":"edit","pattern":"*.ts","action":"deny"}]';
    const { events } = translate([
      tool("write", {
        status: "error",
        error: `The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules ${rules}`,
      }),
    ]);
    expect(types(events)).toEqual(["session.bound", "tool.started", "permission.denied", "tool.ended"]);
    expect(find(events, "permission.denied")[0]?.data).toMatchObject({ permission: "edit", patterns: ["*.ts"] });
    expect(find(events, "tool.ended")[0]?.data.status).toBe("denied");
  });

  test("an auto-rejected permission is told once, in any order of the two files", () => {
    const rejected = tool("bash", {
      status: "error",
      error: "The user rejected permission to use this specific tool call.",
    });
    const notice = { err: "\u001b[93m\u001b[1m! \u001b[0mpermission requested: bash (echo a, echo b); auto-rejecting" };
    for (const lines of [
      [rejected, notice],
      [notice, rejected],
    ]) {
      const { events, ending } = translate([stepStart(), ...lines]);
      expect(find(events, "permission.denied").map(({ data }) => data)).toEqual([
        {
          permission: "bash",
          patterns: ["echo a", "echo b"],
          message: "permission requested: bash (echo a, echo b); auto-rejecting",
        },
      ]);
      expect(find(events, "tool.ended")[0]?.data.status).toBe("denied");
      expect(ending.failure?.code).toBe("permission_denied");
    }
  });

  test("an auto-rejected permission without a word on stderr is told at the end", () => {
    const state = { status: "error", error: "The user rejected permission to use this specific tool call." };
    const { ending } = translate([stepStart(), tool("bash", state)]);
    expect(ending.events).toMatchObject([{ type: "permission.denied", data: { permission: "bash" } }]);
  });

  test("calls that share an id of the provider stay apart", () => {
    const { events } = translate([
      tool("read", { status: "completed" }, "call_0"),
      tool("read", { status: "completed" }, "call_0"),
    ]);
    const ids = find(events, "tool.ended").map(({ data }) => data.tool_call_id);
    expect(ids[0]).toBe("call_0");
    expect(new Set(ids).size).toBe(2);
  });
});

describe("sessions", () => {
  test("another session than the requested one stops the process, and nothing is passed on", () => {
    const { translations, events, ending } = translate([stepStart(), text("stranger")], { requested: OTHER_SESSION });
    expect(events).toEqual([]);
    expect(translations[0]?.halt).toMatchObject({ code: "resume_degraded", isProven: true });
    expect(ending).toMatchObject({ isResumed: false, failure: { rule: "session-mismatch" } });
  });

  test("the requested session is bound as resumed", () => {
    const { events, ending } = translate([stepStart(), stepFinish("stop")], { requested: SESSION });
    expect(events[0]).toMatchObject({ type: "session.bound", data: { native_session_id: SESSION, resumed: true } });
    expect(ending.isResumed).toBe(true);
  });

  test("a later record of another session is told once and not left out", () => {
    const stranger = record("text", { part: { id: "p", messageID: "m", text: "x" } }, OTHER_SESSION);
    const { events } = translate([stepStart(), stranger, stranger]);
    expect(types(events)).toEqual(["session.bound", "step.started", "warning", "message"]);
  });
});

describe("errors and endings", () => {
  const overflow = error("ContextOverflowError", { message: "prompt is too long" });

  test("an error printed twice is one failure", () => {
    const { events, ending } = translate([overflow, overflow]);
    expect(types(events)).toEqual(["session.bound"]);
    expect(ending.failure).toMatchObject({ code: "context_overflow", isProven: true });
  });

  test("an error that the run recovered from is a warning, not a failure", () => {
    const { events, ending } = translate([overflow, stepStart(), text("summed up"), stepFinish("stop")]);
    expect(find(events, "warning").map(({ data }) => data)).toEqual([
      { code: "cli_error", message: "prompt is too long" },
    ]);
    expect(ending.failure).toBeUndefined();
  });

  test("an error after the last answer is a failure", () => {
    const late = error("APIError", { message: "no", statusCode: 401 });
    expect(translate([stepStart(), stepFinish("tool-calls"), late]).ending.failure?.code).toBe("auth_failed");
  });

  test("exit code 0 with a last step that called tools proves nothing", () => {
    const { ending } = translate([stepStart(), stepFinish("tool-calls")]);
    expect(ending.failure).toMatchObject({ code: "output_incomplete", isProven: false });
  });

  test("an abnormal exit after the last step is a crash that keeps the output", () => {
    const { ending } = translate([stepStart(), text("done"), stepFinish("stop")], { exit: { code: 1, signal: null } });
    expect(ending).toMatchObject({ output: "done", failure: { code: "crashed", rule: "exit-after-completion" } });
  });

  test("a process that turnd stopped proves nothing by its exit", () => {
    const { ending } = translate([stepStart()], { exit: { code: null, signal: "SIGKILL" }, wasStopped: true });
    expect(ending.failure?.isProven).toBe(false);
  });

  test("a process whose end nobody saw is no success", () => {
    const { ending } = translate([stepStart(), stepFinish("stop")], { exit: null });
    expect(ending).toMatchObject({ failure: { code: "unknown", isProven: false } });
    expect(ending.proof).toBeUndefined();
  });

  test("steps that end without a reason again and again stop the process", () => {
    const aimless = ["unknown", "other", "unknown", "other", "unknown"].map((reason) => stepFinish(reason));
    expect(translate(aimless.slice(1)).translations.some(({ halt }) => halt !== undefined)).toBe(false);
    expect(translate(aimless).translations.at(-1)?.halt).toMatchObject({ code: "provider_error", isProven: true });
  });

  test("steps that call tools lead somewhere, whatever reason they end with", () => {
    const steps = Array.from({ length: 8 }, (_, index) => [
      stepStart({ messageID: `msg_${index}` }),
      tool("read", { status: "completed" }),
      stepFinish("unknown"),
    ]).flat();
    expect(translate(steps).translations.some(({ halt }) => halt !== undefined)).toBe(false);
  });
});
