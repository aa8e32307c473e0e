import { describe, expect, test } from "vitest";
import { find, OTHER_SESSION, record, SESSION, stepFinish, stepStart, text, translate, types } from "./lines.ts";

const tokens = { total: 120, input: 70, output: 20, reasoning: 4, cache: { read: 30, write: 0 } };

describe("records", () => {
  test("a plain answer is a step with one message", () => {
    const { events, ending } = translate([stepStart(), text("Hello."), stepFinish("stop", { tokens })]);
    expect(types(events)).toEqual(["session.bound", "step.started", "message", "step.ended"]);
    expect(events[0]?.native).toMatchObject({ line: 1, type: "step_start" });
    expect(find(events, "step.ended")[0]?.data).toMatchObject({ index: 0, reason: "stop" });
    expect(ending).toMatchObject({ output: "Hello.", nativeSessionId: SESSION, isResumed: false });
    expect(ending.failure).toBeUndefined();
  });

  test("blank lines give no event", () => {
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

  test("what the provider does not report is unknown, not 0", () => {
    const zero = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
    const { ending, events } = translate([stepStart(), stepFinish("stop", { tokens: zero })]);
    expect(ending.usage).toBeUndefined();
    expect(ending.costUsd).toBeUndefined();
    expect(find(events, "step.ended")[0]?.data).toEqual({ index: 0, reason: "stop" });
  });
});

describe("sessions", () => {
  test("another session than the requested one stops the process, and nothing is passed on", () => {
    const { translations, events, ending } = translate([stepStart(), text("other")], { requested: OTHER_SESSION });
    expect(events).toEqual([]);
    expect(translations[0]?.halt).toMatchObject({ code: "resume_degraded", isProven: true });
    expect(ending).toMatchObject({ isResumed: false, failure: { rule: "session-mismatch" } });
  });

  test("the requested session is bound as resumed", () => {
    const { events, ending } = translate([stepStart(), stepFinish("stop")], { requested: SESSION });
    expect(events[0]).toMatchObject({ type: "session.bound", data: { native_session_id: SESSION, resumed: true } });
    expect(ending.isResumed).toBe(true);
  });

  test("a later record of another session is reported once and not left out", () => {
    const foreign = record("text", { part: { id: "p", messageID: "m", text: "x" } }, OTHER_SESSION);
    const { events } = translate([stepStart(), foreign, foreign]);
    expect(types(events)).toEqual(["session.bound", "step.started", "warning", "message"]);
  });
});
