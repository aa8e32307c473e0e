import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "../../../src/scripted-model/reply.ts";
import {
  bash,
  call,
  childOf,
  completed,
  marker,
  refusal,
  steps,
  thenAnswer,
  type Scene,
  type SceneConfig,
} from "../scene.ts";

const STEPS_OF_PLAN = ["Read the task", "Write the code"];
const plan = (done: number) =>
  call("todowrite", {
    todos: STEPS_OF_PLAN.map((content, index) => ({
      content,
      status: index < done ? "completed" : index === done ? "in_progress" : "pending",
      priority: "medium",
    })),
  });
const task = (scene: string) =>
  call("task", { description: "a part of it", prompt: marker(childOf(scene)), subagent_type: "general" });

/** Turns that come to an answer, each by another way. */
export const ANSWERED: readonly Scene[] = [
  { name: "text-answer", label: completed("the model answers with one text") },
  {
    name: "text-answer-odd-characters",
    script: () => say("\u001B[31mred\u001B[0m \u2028 “ü” 漢字 \u{1F600}\tend"),
    label: completed("as text-answer", "\u001B[31mred\u001B[0m \u2028 “ü” 漢字 \u{1F600}\tend"),
  },
  {
    name: "tool-succeeds",
    script: steps([[bash("echo tool-ok")]]),
    label: completed("one command, then the answer", "Done.", 1),
  },
  {
    name: "tool-exits-nonzero",
    script: steps([[bash("echo partial; echo broken >&2; exit 3")]]),
    label: completed("a failed command does not fail a turn", "Done.", 1),
  },
  {
    name: "tool-fails",
    script: steps([[call("read", { filePath: "missing.txt" })]]),
    label: completed("a failed tool does not fail a turn", "Done.", 1),
  },
  {
    name: "tool-times-out",
    script: steps([[bash("sleep 60", { timeout: 1000 })]]),
    label: completed("a command that is cut off does not fail a turn", "Done.", 1),
  },
  {
    name: "edit-after-read",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "notes.txt"), "first line\nsecond line\n"),
    script: steps([
      [call("read", { filePath: "notes.txt" })],
      [call("edit", { filePath: "notes.txt", oldString: "first line", newString: "first line (edited)" })],
    ]),
    label: completed("a file is read and changed", "Done.", 2),
  },
  {
    name: "write",
    script: steps([[call("write", { filePath: "new.txt", content: "hello\n" })]]),
    label: completed("a file is written", "Done.", 1),
  },
  {
    name: "search-tools",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "notes.txt"), "needle\n"),
    script: steps([[call("glob", { pattern: "*.txt" }), call("grep", { pattern: "needle" })]]),
    label: completed("two searches in one answer", "Done.", 2),
  },
  {
    name: "parallel-tools",
    script: steps([[bash("echo one"), bash("echo two; exit 1")]]),
    label: completed("two commands in one answer", "Done.", 2),
  },
  {
    name: "todo-list",
    script: steps([[plan(0)], [plan(2)]]),
    label: completed("a plan, then all of it done", "Done.", 2),
  },
  {
    name: "reasoning",
    script: () => ({
      type: "answer",
      parts: [
        { type: "reasoning", text: "First I think." },
        { type: "text", text: "Then I speak." },
      ],
      ending: "stop",
    }),
    label: completed("thoughts, then an answer", "Then I speak."),
  },
  {
    name: "anthropic-reasoning",
    api: "messages",
    script: () => ({
      type: "answer",
      parts: [
        { type: "reasoning", text: "First I think." },
        { type: "text", text: "Then I speak." },
      ],
      ending: "stop",
    }),
    label: completed("thoughts, then an answer", "Then I speak."),
  },
  {
    name: "anthropic-tool",
    api: "messages",
    script: steps([[bash("echo tool-ok")]]),
    label: completed("one command, then the answer", "Done.", 1),
  },
  {
    name: "priced-model",
    config: priceModel,
    label: completed("one answer of a model with a price"),
  },
  {
    name: "mcp-tools",
    config: (config, { workspace }) => {
      config["mcp"] = { lab: { type: "local", command: [join(workspace, "server.sh")], enabled: true } };
    },
    prepare: ({ workspace }) => writeMcpServer(join(workspace, "server.sh")),
    script: steps([[call("lab_say", { word: "ok" })], [call("lab_fail", {})]]),
    label: completed("a tool of a server that answers, then one that fails", "Done.", 2),
  },
  {
    name: "subagent",
    script: steps([[task("subagent")]]),
    child: steps([[bash("echo child")]], "The child is done."),
    label: completed("a subagent works, then the answer", "Done.", 1),
  },
  {
    name: "subagent-fails",
    script: steps([[task("subagent-fails")]]),
    child: refusal(401, { message: "Incorrect API key provided: sk-bad.", code: "invalid_api_key" }),
    label: completed("a subagent's key is refused, and the model goes on without it", "Done.", 1),
  },
  {
    name: "subagent-permission-rejected",
    config: (config) => void (config.permission = { "*": "allow", bash: "ask" }),
    script: steps([[task("subagent-permission-rejected")]]),
    child: steps([[bash("echo child")]], "The child goes on."),
    label: completed("a subagent's question is rejected, and the run goes on", "Done.", 1),
  },
  {
    name: "denied-by-rule",
    config: (config) => void (config.permission = { "*": "allow", edit: "deny" }),
    script: steps([[call("write", { filePath: "new.txt", content: "x" })]]),
    label: completed("the tool is not offered, so the call is answered as one of an unknown tool", "Done.", 1),
  },
  {
    name: "plan-agent-denies-edits",
    args: ["--agent=plan"],
    config: (config) => void (config.permission = {}),
    script: steps([[call("write", { filePath: "new.txt", content: "x" })]]),
    label: completed("the plan agent's edit is refused and the run goes on", "Done.", 1),
  },
  {
    name: "unknown-agent",
    args: ["--agent=nobody"],
    label: completed("an agent that is not there: the default one answers"),
  },
  {
    name: "unknown-tool",
    script: steps([[call("telepathy", { of: "whom" })]]),
    label: completed("a call of a tool that is not offered is answered with an error", "Done.", 1),
  },
  {
    name: "tool-arguments-invalid",
    script: steps([[call("bash", { command: 5 })]]),
    label: completed("a call with wrong arguments is answered with an error", "Done.", 1),
  },
  {
    name: "compaction",
    config: limitContext,
    script: ({ tools, entries }) =>
      tools.length === 0
        ? say("A summary of it all.")
        : entries.some((entry) => "text" in entry && entry.text.includes("A summary of it all."))
          ? say("Done.")
          : {
              type: "answer",
              parts: [bash("echo much")],
              ending: "stop",
              tokens: { input: 90_000, cached: 0, output: 20, reasoning: 0 },
            },
    label: completed("usage beyond the model's context: a summary, then the answer", "Done.", 1),
  },
  {
    name: "context-overflow-recovered",
    config: limitContext,
    continues: "answered",
    script: ({ tools, entries }) =>
      tools.length === 0
        ? say("A summary of it all.")
        : entries.some((entry) => "text" in entry && entry.text.includes("A summary of it all."))
          ? say("Done.")
          : { type: "refusal", status: 400, ...OVERFLOW },
    label: { ...completed("the prompt is too long, a summary helps, the answer comes"), resumed: true },
  },
  {
    name: "rate-limited-then-answered",
    script: thenAnswer(refusal(429, { message: "Rate limit reached for requests.", code: "rate_limit_exceeded" }), 1),
    label: completed("one 429, then the answer"),
  },
  {
    name: "overloaded-then-answered",
    api: "messages",
    script: thenAnswer(refusal(529, { type: "overloaded_error", message: "Overloaded" }), 1),
    label: completed("one 529, then the answer"),
  },
  {
    name: "stream-cut-recovered",
    script: thenAnswer(() => say("This breaks off", "cut"), 1),
    label: completed("a stream that is cut, then the answer"),
  },
  {
    name: "resume",
    continues: "answered",
    label: { ...completed("the session goes on"), resumed: true },
  },
  {
    name: "resume-after-kill",
    continues: "killed",
    label: { ...completed("a session whose turn was killed goes on"), resumed: true },
  },
];

const OVERFLOW = {
  code: "context_length_exceeded",
  message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
} as const;

function priceModel({ provider }: SceneConfig): void {
  provider.lab.models.m["cost"] = { input: 3, output: 15, cache_read: 0.3 };
}

function limitContext({ provider }: SceneConfig): void {
  provider.lab.models.m["limit"] = { context: 50_000, output: 4_000 };
}

/** A server of two tools over stdio, one of which fails, for a shell alone. */
function writeMcpServer(path: string): void {
  const tool = (name: string): string => `{"name":"${name}","description":"${name}","inputSchema":{"type":"object"}}`;
  writeFileSync(
    path,
    `#!/bin/sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"lab","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[${tool("say")},${tool("fail")}]}' ;;
    *'"name":"say"'*) result='{"content":[{"type":"text","text":"said"}]}' ;;
    *'"tools/call"'*) result='{"isError":true,"content":[{"type":"text","text":"it failed"}]}' ;;
    *) result='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
done
`,
  );
  chmodSync(path, 0o755);
}
