import { expect, test } from "vitest";
import { createServerTranslator } from "../../../../../../src/turnd/daemon/executors/cli-a/server/translate.ts";
import type { TranslatorInput } from "../../../../../../src/turnd/daemon/executors/contract/translator.ts";

const SESSION = "ses_1";
const ANSWER = "msg_answer";
let seq = 0;

const asked = {
  turnd: "asked",
  id: "t:0:turn",
  method: "turn",
  params: { sessionID: SESSION, messageID: "msg_in" },
  request_id: "r",
};
function sync(type: string, data: object, session = SESSION): object {
  seq += 1;
  return {
    at: seq,
    sync: { id: `evt_${seq}`, type: `${type}.1`, seq, aggregateID: session, data: { sessionID: session, ...data } },
  };
}
const event = (type: string, properties: object): object => ({
  at: seq,
  event: { type, properties: { sessionID: SESSION, ...properties } },
});
const message = (info: object, session = SESSION): object =>
  sync("message.updated", { info: { id: ANSWER, role: "assistant", parentID: "msg_in", time: {}, ...info } }, session);
const part = (given: object, session = SESSION): object =>
  sync("message.part.updated", { part: { id: "prt_1", messageID: ANSWER, sessionID: session, ...given } }, session);
const delta = (text: string): object =>
  event("message.part.delta", { messageID: ANSWER, partID: "prt_1", field: "text", delta: text });
const text = (whole: string, time: object = {}): object => part({ type: "text", text: whole, time });
const tool = (state: object, more: object = {}): object =>
  part({ type: "tool", tool: "bash", callID: "call_1", state, ...more });
const DONE = { at: 1, id: "t:0:turn", status: 200, body: {} };

function play(lines: readonly object[], input: Partial<TranslatorInput> = {}) {
  const translator = createServerTranslator({ requestedSession: null, transport: "interactive", ...input });
  const events = [asked, ...lines].flatMap(
    (line, index) =>
      translator.push({ source: "stdout", number: index + 1, text: JSON.stringify(line), isTruncated: false }).events,
  );
  const ending = translator.end({ exit: null, wasStopped: false });
  return { events: [...events, ...ending.events], ending, activity: translator.activity?.() };
}
const told = (events: ReturnType<typeof play>["events"]): unknown[] =>
  events.filter(({ type }) => type !== "session.bound").map(({ type, data }) => [type, data]);

test("joined, the pieces of a text are the text, also where its stream broke off in the middle", () => {
  const { events } = play([
    message({}),
    text(""),
    delta("One "),
    { note: "reconnected" },
    delta("lost "),
    text("One two three.", { end: 2 }),
  ]);
  expect(told(events)).toEqual([
    ["message.delta", { message_id: "prt_1", text: "One " }],
    ["message.delta", { message_id: "prt_1", text: "two three." }],
    ["message", { message_id: "prt_1", text: "One two three." }],
  ]);
});

test("what was shown of a text that is asked for again is withdrawn", () => {
  const retry = event("session.status", { status: { type: "retry", attempt: 1, message: "Overloaded", next: 5 } });
  const { events } = play([message({}), text(""), delta("One "), retry]);
  expect(told(events)).toMatchObject([
    ["message.delta", { text: "One " }],
    ["message.discarded", { message_id: "prt_1", reason: "retry" }],
    ["retry", { attempt: 1, message: "Overloaded" }],
  ]);
});

test("what a tool prints is shown once, and of a long output its end takes the place of what was before", () => {
  const running = (output: string): object =>
    tool({ status: "running", input: { command: "x" }, metadata: { output } });
  const { events } = play([message({}), running("a\n"), running("a\n"), running("a\nb\n"), running("...\n\nc\n")]);
  expect(told(events)).toMatchObject([
    ["tool.started", { tool_call_id: "call_1", kind: "execute" }],
    ["tool.output", { text: "a\n", mode: "append" }],
    ["tool.output", { text: "b\n", mode: "append" }],
    ["tool.output", { text: "...\n\nc\n", mode: "replace" }],
    ["tool.ended", { status: "interrupted" }],
  ]);
});

// Law: every wait is bounded.
test("of what a tool prints no more is shown than the limit", () => {
  const running = (output: string): object => tool({ status: "running", input: {}, metadata: { output } });
  const { events } = play([message({}), running("a".repeat(20)), running("a".repeat(40))], { maxToolOutputBytes: 10 });
  expect(events.filter(({ type }) => type === "tool.output")).toMatchObject([{ data: { text: "", truncated: true } }]);
});

test("events of a subagent name the call that it works for, and its text is not the turn's", () => {
  const child = "ses_child";
  const { events, ending } = play([
    message({}),
    sync("session.created", { info: { id: child, parentID: SESSION } }, child),
    tool({ status: "running", input: {}, metadata: { sessionId: child } }, { tool: "task", callID: "call_task" }),
    part(
      {
        id: "prt_c",
        messageID: "msg_c",
        type: "tool",
        tool: "bash",
        callID: "call_c",
        state: { status: "running", input: {} },
      },
      child,
    ),
    part({ id: "prt_t", messageID: "msg_c", type: "text", text: "Of the child.", time: { end: 1 } }, child),
    sync(
      "message.part.updated",
      { part: { id: "x", messageID: "y", sessionID: "other", type: "text", text: "no", time: { end: 1 } } },
      "other",
    ),
  ]);
  const own = events.filter(({ parent_tool_call_id: parent }) => parent === "call_task").map(({ type }) => type);
  expect(own).toEqual(["tool.started", "message", "tool.ended"]);
  expect(ending.output).toBeNull();
});

// Law: success is proved.
test.each([
  [
    "it ends with stop, and the server has answered",
    [message({ finish: "stop", time: { completed: 2 } }), DONE],
    undefined,
  ],
  ["it ends with stop, and the server has not", [message({ finish: "stop", time: { completed: 2 } })], "unknown"],
  ["a summary is no answer", [message({ finish: "stop", summary: true, time: { completed: 2 } }), DONE], "unknown"],
  [
    "the answer is an earlier turn's",
    [message({ finish: "stop", parentID: "msg_old", time: { completed: 2 } }), DONE],
    "unknown",
  ],
  ["it is not complete", [message({ finish: "stop" }), DONE], "unknown"],
  ["it reached its limit", [message({ finish: "length", time: { completed: 2 } }), DONE], "output_limit"],
  [
    "the provider refused it, and the status says so",
    [message({ error: { name: "APIError", data: { message: "no", statusCode: 401 } }, time: { completed: 2 } }), DONE],
    "auth_failed",
  ],
])("%s", (_why, lines, code) => {
  const { ending } = play(lines);
  expect(ending.failure?.code).toBe(code);
  expect(ending.proof === undefined).toBe(code !== undefined);
});

test("a change that comes twice is one; what is lost is said", () => {
  const once = text("Hello.", { end: 1 });
  const { events } = play([message({}), once, once, { note: "gap" }]);
  expect(told(events)).toMatchObject([
    ["message", { text: "Hello." }],
    ["warning", { code: "stream_gap" }],
  ]);
});

// Law: nothing printed is dropped.
test("what is not known is kept with its line", () => {
  const { events } = play([
    { printed: "something else" },
    event("session.later", {}),
    part({ type: "later" }),
    { odd: true },
  ]);
  expect(events.filter(({ type }) => type === "record.unknown")).toHaveLength(4);
  expect(play([{ printed: "opencode server listening on http://127.0.0.1:4096" }]).events).toHaveLength(1);
});

test("an approval that a rule answers meanwhile is resolved by policy", () => {
  const ask = event("permission.asked", {
    id: "per_1",
    permission: "bash",
    patterns: ["ls"],
    tool: { callID: "call_1" },
  });
  const { events, activity } = play([
    message({}),
    ask,
    event("permission.replied", { requestID: "per_1", reply: "once" }),
  ]);
  expect(told(events)).toMatchObject([
    ["approval.requested", { approval_id: "per_1", tool_call_id: "call_1", detail: { command: "ls" } }],
    ["approval.resolved", { approval_id: "per_1", decision: "accept", by: "policy" }],
  ]);
  expect(activity?.hasOpenTool).toBe(false);
});
