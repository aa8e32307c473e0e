import { describe, expect, test } from "vitest";
import { find, stepStart, tool, translate, types } from "./lines.ts";

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

  test("an auto-rejected permission is reported once, in any order of the two files", () => {
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

  test("an auto-rejected permission without output on stderr is reported at the end", () => {
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
