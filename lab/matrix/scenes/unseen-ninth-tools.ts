import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, completed, steps, type Scene } from "../scene.ts";
import { serveTools, todos } from "./unseen-ninth-parts.ts";

const FILES = ["zeta.md", "alpha.md"];

/** As the answered runs of the shared recordings: the same kinds of tools, with other files, commands and orders. */
export const NINTH_TOOLS: readonly Scene[] = [
  {
    name: "ninth-text",
    script: () => say("The module exports `parse` and `format`; both are pure.\n\nNothing else is needed."),
    label: completed(
      "plain text",
      "The module exports `parse` and `format`; both are pure.\n\nNothing else is needed.",
    ),
  },
  {
    name: "ninth-thinking-then-tool",
    script: ({ entries }) =>
      entries.some(({ type }) => type === "tool_result")
        ? say("It is a directory.")
        : {
            type: "answer",
            parts: [{ type: "reasoning", text: "**Looking**\n\nThe tree may tell." }, bash("ls -ld .")],
            ending: "stop",
          },
    label: completed("a thought, a tool, an answer", "It is a directory.", 1),
  },
  {
    name: "ninth-shell-text-before",
    script: steps([
      [{ type: "text", text: "I look at the branch first." }, bash("git init -q . && git status --short")],
    ]),
    label: completed("text, one command, text", "Done.", 1),
  },
  {
    name: "ninth-shell-pipes",
    script: steps([[bash("printf 'b\\na\\n' | sort | tee sorted.txt")]], "Sorted."),
    label: completed("one command, then the answer", "Sorted.", 1),
  },
  {
    name: "ninth-shell-times-out",
    script: steps([[bash("tail -f /dev/null", { timeout: 1500 })]], "The watcher never returns."),
    label: completed("the command meets its own limit", "The watcher never returns.", 1),
  },
  {
    name: "ninth-three-steps-parallel",
    prepare: ({ workspace }) => FILES.forEach((name) => writeFileSync(join(workspace, name), `# ${name}\n`)),
    script: steps([
      [bash("ls"), ...FILES.map((name) => call("read", { filePath: name }))],
      [call("write", { filePath: "index.md", content: "- alpha\n- zeta\n" }), bash("wc -l *.md")],
      [bash("cat index.md")],
    ]),
    label: completed("parallel tools over three steps", "Done.", 6),
  },
  {
    name: "ninth-four-steps-mixed",
    script: steps([
      [bash("mkdir -p src && echo 'export {}' >src/a.ts")],
      [call("read", { filePath: "src/a.ts" }), bash("false")],
      [call("write", { filePath: "src/b.ts", content: "export const b = 1;\n" })],
      [bash("cat src/*.ts"), bash("pwd")],
    ]),
    label: completed("tools over four steps, one of which exits 1", "Done.", 6),
  },
  {
    name: "ninth-edit-everywhere",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "settings.ini"), "port=80\nadmin_port=80\n"),
    script: steps([
      [call("read", { filePath: "settings.ini" })],
      [call("edit", { filePath: "settings.ini", oldString: "80", newString: "8080", replaceAll: true })],
    ]),
    label: completed("read, then edit of every place", "Done.", 2),
  },
  {
    name: "ninth-edit-own-file",
    script: steps([
      [call("write", { filePath: "Makefile", content: "all:\n\techo one\n" })],
      [call("edit", { filePath: "Makefile", oldString: "echo one", newString: "echo two" })],
      [bash("cat Makefile")],
    ]),
    label: completed("a written file is edited", "Done.", 3),
  },
  {
    name: "ninth-edit-text-not-there",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "README"), "one\n"),
    script: steps(
      [[call("edit", { filePath: "README", oldString: "three", newString: "four" })]],
      "It is not in there.",
    ),
    label: completed("the edit fails, the model goes on", "It is not in there.", 1),
  },
  {
    name: "ninth-write-deep",
    script: steps([[call("write", { filePath: "lib/deep/er/mod.rs", content: "pub fn f() {}\n" })]], "Written."),
    label: completed("a file in new folders", "Written.", 1),
  },
  {
    name: "ninth-todos",
    script: steps([[todos("pending", "pending", "pending")], [todos("completed", "in_progress", "pending")]]),
    label: completed("a todo list", "Done.", 2),
  },
  {
    name: "ninth-todos-with-work",
    script: steps([
      [todos("in_progress")],
      [bash("echo work >out.txt")],
      [todos("completed"), call("read", { filePath: "out.txt" })],
    ]),
    label: completed("a todo list around a command", "Done.", 4),
  },
  {
    name: "ninth-mcp-fails",
    config: (config, { workspace }) => {
      config["mcp"] = {
        store: { type: "local", command: ["/usr/bin/perl", join(workspace, "tools.pl")], enabled: true },
      };
    },
    prepare: ({ workspace }) => serveTools(join(workspace, "tools.pl")),
    script: steps([[call("store_lookup", { text: "key" }), call("store_refuse", {})]], "One of two."),
    label: completed("MCP tools, one returns isError", "One of two.", 2),
  },
  {
    name: "ninth-mcp-and-shell",
    api: "messages",
    config: (config, { workspace }) => {
      config["mcp"] = {
        store: { type: "local", command: ["/usr/bin/perl", join(workspace, "tools.pl")], enabled: true },
        gone: { type: "local", command: ["/nonexistent/server"], enabled: true },
      };
    },
    prepare: ({ workspace }) => serveTools(join(workspace, "tools.pl")),
    script: steps([[call("store_refuse", {})], [bash("echo instead")]], "By hand, then."),
    label: completed("an MCP tool fails, another server does not start, a command helps", "By hand, then.", 2),
  },
  {
    name: "ninth-anthropic-two-tools",
    api: "messages",
    script: steps([[bash("uname -s"), bash("id -u")]], "Linux, not root."),
    label: completed("other adapter, two commands", "Linux, not root.", 2),
  },
  {
    name: "ninth-anthropic-edit",
    api: "messages",
    script: steps([
      [{ type: "text", text: "I write it." }, call("write", { filePath: "x.py", content: "print(1)\n" })],
      [bash("cat x.py; exit 4")],
    ]),
    label: completed("other adapter, a file and a command that exits 4", "Done.", 2),
  },
  {
    name: "ninth-anthropic-thinking-long",
    api: "messages",
    script: () => ({
      type: "answer",
      parts: [
        { type: "reasoning", text: "A rather long thought about the order of things. ".repeat(40) },
        { type: "text", text: "Forty-two." },
      ],
      ending: "stop",
    }),
    label: completed("other adapter, reasoning", "Forty-two."),
  },
  {
    name: "ninth-same-call-five-times",
    script: steps(
      Array.from({ length: 5 }, () => [bash("date +%Y")]),
      "Still the same year.",
    ),
    label: completed("five identical calls in five steps", "Still the same year.", 5),
  },
  {
    name: "ninth-same-call-in-one-step",
    script: steps([Array.from({ length: 4 }, () => call("read", { filePath: "same.txt" }))]),
    prepare: ({ workspace }) => writeFileSync(join(workspace, "same.txt"), "same\n"),
    label: completed("identical calls in one step, everything allowed", "Done.", 4),
  },
  {
    name: "ninth-outside-allowed",
    script: steps([[call("read", { filePath: "/etc/os-release" })]]),
    label: completed("a file outside, allowed", "Done.", 1),
  },
  {
    name: "ninth-outside-allowed-by-path",
    config: (config) =>
      void (config.permission = { "*": "allow", external_directory: "allow", webfetch: "deny", doom_loop: "ask" }),
    script: steps([[bash("ls /usr/share >/dev/null; head -c 20 /etc/passwd")]]),
    label: completed("a command outside, allowed", "Done.", 1),
  },
  {
    name: "ninth-outside-denied",
    config: (config) => void (config.permission = { "*": "allow", external_directory: "deny" }),
    script: steps([[call("read", { filePath: "/etc/hosts" })]], "I may not look there."),
    label: completed("denied by rule, the run goes on", "I may not look there.", 1),
  },
  {
    name: "ninth-big-output",
    script: steps([[bash("seq 1 160000")]], "Many numbers."),
    label: completed("about 1 MB of output, cut by the CLI", "Many numbers.", 1),
  },
  {
    name: "ninth-one-long-line",
    script: steps([[bash("head -c 120000 /dev/zero | tr '\\0' x")]], "One line."),
    label: completed("one very long line of a tool", "One line.", 1),
  },
  {
    name: "ninth-shell-exits-high",
    script: steps([[bash("make nothing-to-make 2>&1; exit 127")]], "There is no rule for it."),
    label: completed("a command exits 127", "There is no rule for it.", 1),
  },
  {
    name: "ninth-glob-and-grep",
    prepare: ({ workspace }) => {
      mkdirSync(join(workspace, "pkg"), { recursive: true });
      writeFileSync(join(workspace, "pkg", "main.go"), "package main\n// TODO: later\n");
    },
    script: steps([[call("grep", { pattern: "TODO", include: "*.go" }), call("glob", { pattern: "**/*.go" })]]),
    label: completed("two searches in one step", "Done.", 2),
  },
  {
    name: "ninth-read-missing-folder",
    script: steps([[call("read", { filePath: "docs/plan.md" })], [bash("ls docs")]], "There are no docs."),
    label: completed("a file that is not there, a folder that is not either", "There are no docs.", 2),
  },
  {
    name: "ninth-background-left",
    script: steps([[bash("nohup sleep 25 >/dev/null 2>&1 & echo started $!")]], "It runs on."),
    label: completed("a background process is left", "It runs on.", 1),
  },
  {
    name: "ninth-environment",
    env: { LAB_DUMMY_TOKEN: "FAKE-LAB-KEY-B" },
    script: steps([[bash("env | sort | grep -i lab")]], "Those are set."),
    label: completed("a tool prints the environment, a dummy key is visible", "Those are set.", 1),
  },
];
