import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { TranslatedEvent, Translation } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { listRecordings, play } from "../recordings.ts";

const THREAD = "01a1fd1a-5463-7e72-9eca-765c0aaffeed";
const OTHER = "01a1fd1a-6859-7273-acd2-afe8c45a592e";
const fixtures = listRecordings(resolve(import.meta.dirname, "../../../../../fixtures"), "cli-b");

function eventsOf(name: string): TranslatedEvent[] {
  const recording = fixtures.find((fixture) => fixture.name === `cli-b/0.139.0/${name}`);
  if (recording === undefined) throw new Error(`no fixture ${name}`);
  return play(cliB, recording).events;
}

const typesOf = (name: string): string[] => eventsOf(name).map(({ type }) => type);

/** A translator with numbered lines. */
function start(requestedSession: string | null = null) {
  const translator = cliB.createTranslator({ requestedSession });
  let number = 0;
  const push = (text: string, source: "stdout" | "stderr" = "stdout", isTruncated = false): Translation =>
    translator.push({ source, number: ++number, text, isTruncated });
  return { push, end: translator.end };
}

const thread = (id: string): string => JSON.stringify({ type: "thread.started", thread_id: id });
const item = (type: string, fields: object): string => JSON.stringify({ type, item: fields });
const command = (id: string, fields: object): object => ({
  id,
  type: "command_execution",
  command: "/bin/bash -lc 'ls'",
  aggregated_output: "",
  exit_code: null,
  status: "in_progress",
  ...fields,
});
const message = (id: string, text: string): string => item("item.completed", { id, type: "agent_message", text });

describe("sessions", () => {
  test("a new thread is bound and not resumed", () => {
    expect(start().push(thread(THREAD)).events).toEqual([
      {
        type: "session.bound",
        data: { native_session_id: THREAD, resumed: false },
        native: { line: 1, type: "thread.started" },
      },
    ]);
  });

  test("the thread that was asked for is resumed, whatever the case of its id", () => {
    const { push, end } = start(THREAD.toUpperCase());
    expect(push(thread(THREAD)).events[0]).toMatchObject({ data: { native_session_id: THREAD, resumed: true } });
    expect(end({ exit: { code: 0, signal: null }, wasStopped: false }).isResumed).toBe(true);
  });

  test("another session's thread halts the process, and nothing of it is passed on", () => {
    const { push, end } = start(THREAD);
    expect(push(thread(OTHER))).toMatchObject({ events: [], halt: { code: "resume_degraded", isProven: true } });
    expect(push(message("item_0", "hello"))).toEqual({ events: [] });
    expect(push("2026-11-21T08:00:00Z ERROR codex_core::tools::router: error=x", "stderr")).toEqual({ events: [] });
    const ending = end({ exit: { code: null, signal: "SIGKILL" }, wasStopped: true });
    expect(ending).toMatchObject({ output: null, isResumed: false, failure: { code: "resume_degraded" }, events: [] });
  });
});

describe("tools", () => {
  test("a command has its output, its exit code and a short title", () => {
    const [started, ended] = eventsOf("shell-fails").filter(({ type }) => type.startsWith("tool."));
    expect(started).toMatchObject({ data: { tool_call_id: "item_0", kind: "execute", title: "echo before; exit 3" } });
    expect(ended).toMatchObject({
      data: { status: "failed", exit_code: 3, output: { text: "before\n", bytes: 7, truncated: false } },
      native: { line: 4, type: "item.completed", id: "item_0" },
    });
  });

  test("a command that was declined is denied", () => {
    const { push } = start();
    const { events } = push(item("item.completed", command("item_0", { status: "declined" })));
    expect(events.at(-1)).toMatchObject({ type: "tool.ended", data: { status: "denied" } });
  });

  test("an output at the CLI's limit is marked as cut", () => {
    const { push } = start();
    const full = command("item_0", { aggregated_output: "a".repeat(1_048_576), exit_code: 0, status: "completed" });
    expect(push(item("item.completed", full)).events.at(-1)).toMatchObject({
      data: { output: { bytes: 1_048_576, truncated: true } },
    });
  });

  test("an end without a start gets its start", () => {
    const { push } = start();
    const done = command("item_0", { exit_code: 0, status: "completed" });
    expect(push(item("item.completed", done)).events.map(({ type }) => type)).toEqual(["tool.started", "tool.ended"]);
  });

  test("a call that never ended is closed as interrupted, as an event of turnd's own", () => {
    const ended = eventsOf("shell-open-at-turn-end").at(-1);
    expect(ended).toMatchObject({ type: "tool.ended", data: { status: "interrupted", kind: "execute" } });
    expect(ended).not.toHaveProperty("native");
  });

  test("a patch reports its changes", () => {
    expect(eventsOf("patch-applied").find(({ type }) => type === "tool.ended")).toMatchObject({
      data: {
        kind: "edit",
        changes: [
          { path: "/workspace/work/a.txt", change: "update" },
          { path: "/workspace/work/b.txt", change: "delete" },
          { path: "/workspace/work/new.txt", change: "add" },
        ],
      },
    });
  });

  test("a failed MCP tool keeps its output", () => {
    const failed = eventsOf("mcp-tool-fails").find(
      (event) => event.type === "tool.ended" && event.data.status === "failed",
    );
    expect(failed).toMatchObject({ data: { kind: "mcp", name: "tiny.fail", output: { text: "it failed" } } });
  });

  test("web searches pair although their records have two ids", () => {
    const tools = eventsOf("web-search-and-reasoning").flatMap((event) =>
      event.type === "tool.started" || event.type === "tool.ended" ? [event.data] : [],
    );
    expect(tools.map(({ tool_call_id, kind }) => [tool_call_id, kind])).toEqual([
      ["ws_1", "search"],
      ["ws_1", "search"],
      ["ws_2", "fetch"],
      ["ws_2", "fetch"],
    ]);
  });

  test("a sub-agent is a tool call of its own kind", () => {
    expect(eventsOf("subagent-spawned").find(({ type }) => type === "tool.ended")).toMatchObject({
      data: { kind: "subagent", name: "spawn_agent", title: "look around", status: "completed" },
    });
  });

  test("a completed item is a step boundary only while no tool is open", () => {
    const { push } = start();
    push(item("item.started", command("item_0", {})));
    expect(push(message("item_1", "working")).isStepBoundary).toBe(false);
    const done = command("item_0", { exit_code: 0, status: "completed" });
    expect(push(item("item.completed", done)).isStepBoundary).toBe(true);
  });

  test("a message is no step boundary, for the turn may end with it", () => {
    const { push } = start();
    expect(push(message("item_0", "done")).isStepBoundary).toBe(false);
  });

  test("a sandbox that cannot be created is reported once, and the turn goes on", () => {
    const warnings = eventsOf("sandbox-unavailable").filter(({ type }) => type === "warning");
    expect(warnings).toMatchObject([{ data: { code: "sandbox_unavailable" } }]);
  });
});

describe("the assistant's messages", () => {
  test("a message printed once an attempt is shown once", () => {
    expect(typesOf("stream-cut-after-message").filter((type) => type === "message")).toHaveLength(1);
    expect(typesOf("stream-cut-after-message-recovered").filter((type) => type === "message")).toHaveLength(1);
  });

  test("the same words after a call answer another request, also where that was made twice", () => {
    const { push } = start();
    const done = command("item_1", { exit_code: 0, status: "completed" });
    push(message("item_0", "Still waiting."));
    push(item("item.completed", done));
    push('{"type":"error","message":"Reconnecting... 1/5"}');
    expect(push(message("item_2", "Still waiting.")).events).toMatchObject([{ type: "message" }]);
  });

  test("a thought printed once an attempt is shown once", () => {
    const { push } = start();
    const thought = (id: string): string => item("item.completed", { id, type: "reasoning", text: "Hm." });
    expect(push(thought("item_0")).events).toMatchObject([{ type: "reasoning" }]);
    push('{"type":"error","message":"Reconnecting... 1/5"}');
    expect(push(thought("item_1")).events).toEqual([]);
    expect(push(thought("item_2")).events).toMatchObject([{ type: "reasoning" }]);
  });

  test("the same words without a retry are two messages", () => {
    const { push } = start();
    expect(push(message("item_0", "Done.")).events).toHaveLength(1);
    expect(push(message("item_1", "Done.")).events).toMatchObject([{ data: { message_id: "item_1" } }]);
  });

  test("the same words in a later request are shown, although an earlier one was retried", () => {
    const { push } = start();
    push(message("item_0", "Done."));
    push('{"type":"error","message":"Reconnecting... 1/5 (x)"}');
    expect(push(message("item_1", "Done.")).events).toEqual([]);
    push(item("item.completed", command("item_2", { exit_code: 0, status: "completed" })));
    expect(push(message("item_3", "Done.")).events).toHaveLength(1);
  });

  test("a todo list is a plan, and the copy at the turn's end is not repeated", () => {
    expect(typesOf("todo-list")).toEqual(["session.bound", "plan.updated", "plan.updated", "message"]);
  });

  test("an error before the last message and turn.failed is not shown twice", () => {
    expect(typesOf("review-provider-error")).toEqual(["session.bound", "message"]);
  });

  test("an item error is a warning", () => {
    const { push } = start();
    const { events } = push(item("item.completed", { id: "item_0", type: "error", message: "deprecated" }));
    expect(events).toMatchObject([{ type: "warning", data: { message: "deprecated" } }]);
  });
});

describe("errors", () => {
  test("a reconnect notice is a retry with its cause's code", () => {
    const retries = eventsOf("bad-key").filter(({ type }) => type === "retry");
    expect(retries).toHaveLength(5);
    expect(retries[0]).toMatchObject({ data: { attempt: 1, max: 5, code: "auth_failed" } });
  });

  test("the final error is shown once, as the failure", () => {
    expect(typesOf("rate-limited")).toEqual(["session.bound"]);
  });

  test("an error the turn went on after is a warning", () => {
    const { push } = start();
    expect(push('{"type":"error","message":"odd"}').events).toEqual([]);
    expect(push('{"type":"turn.completed","usage":{}}').events).toMatchObject([
      { type: "warning", data: { message: "odd" }, native: { line: 1 } },
    ]);
  });

  test("a call that failed before it ran is a warning from stderr", () => {
    const warnings = eventsOf("patch-rejected").filter(({ type }) => type === "warning");
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatchObject({ data: { code: "tool_call_rejected" }, native: { source: "stderr", line: 2 } });
  });

  test.each([
    ["patch-blocked-read-only", "edit"],
    ["escalation-rejected", "escalation"],
  ])("%s is a denied permission", (name, permission) => {
    expect(eventsOf(name).find(({ type }) => type === "permission.denied")).toMatchObject({ data: { permission } });
  });

  test("history that could not be saved is reported once, and the turn stays completed", () => {
    const warnings = eventsOf("history-unwritable").filter(({ type }) => type === "warning");
    expect(warnings).toMatchObject([{ data: { code: "history_not_saved" } }]);
  });
});

describe("unknown lines", () => {
  test.each([
    ["hello", "not_json"],
    ['{"type":"item.plan.delta","delta":"x"}', "unknown_type"],
    ['{"type":"item.completed","item":{"id":"item_0","type":"hologram"}}', "unknown_type"],
    ['{"type":"item.completed","item":{"id":"item_0","type":"agent_message"}}', "bad_shape"],
    ['{"type":"thread.started"}', "bad_shape"],
    ["42", "bad_shape"],
    ["[]", "bad_shape"],
    ["{}", "bad_shape"],
  ])("%s is kept as %s", (text, reason) => {
    expect(start().push(text).events).toMatchObject([{ type: "record.unknown", data: { reason, line: text } }]);
  });

  test("a line too long to be read whole is kept by its head", () => {
    expect(start().push('{"type":"turn.started"}', "stdout", true).events).toMatchObject([
      { type: "record.unknown", data: { reason: "not_json" } },
    ]);
  });

  test("blank lines are nothing", () => {
    expect(start().push("  \r")).toEqual({ events: [] });
  });

  test("colours and titles of a terminal do not hide a record", () => {
    const { events } = start().push(`\u001b]0;title\u0007\u001b[32m${thread(THREAD)}\u001b[0m`);
    expect(events).toMatchObject([{ type: "session.bound" }]);
  });
});
