import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bash, call, childOf, marker, refusal, type Scene } from "../scene.ts";
import { acts, allow, fine, model, named } from "./unseen-tenth-parts.ts";

const task = (scene: string, type = "general") =>
  call("task", { description: "look into it", prompt: marker(childOf(`tenth-${scene}`)), subagent_type: type });
const file =
  (name: string, content: string): NonNullable<Scene["prepare"]> =>
  ({ workspace }) => {
    mkdirSync(join(workspace, name, ".."), { recursive: true });
    writeFileSync(join(workspace, name), content);
  };
const todo = (...states: readonly string[]) =>
  call("todowrite", {
    todos: states.map((status, index) => ({
      content: ["Find the cause", "Mend it", "Run the tests", "Tell of it"][index],
      status,
      priority: index === 0 ? "high" : "low",
    })),
  });

/** A server of two tools: one tells the time, the other's answer is an error of the protocol. */
function writeServer(path: string): void {
  writeFileSync(
    path,
    `#!/usr/bin/perl
use strict; use warnings; use JSON::PP; $| = 1;
while (my $line = <STDIN>) {
  my $m = decode_json($line); next unless defined $m->{id};
  my %out = (jsonrpc => '2.0', id => $m->{id}); my $name = $m->{params}{name} // '';
  if ($m->{method} eq 'initialize') { $out{result} = { protocolVersion => $m->{params}{protocolVersion}, capabilities => { tools => {} }, serverInfo => { name => 'clock', version => '2' } } }
  elsif ($m->{method} eq 'tools/list') { $out{result} = { tools => [ map { { name => $_, description => $_, inputSchema => { type => 'object', properties => {} } } } qw(now wind) ] } }
  elsif ($name eq 'now') { $out{result} = { content => [ { type => 'text', text => 'noon' } ] } }
  elsif ($name eq 'wind') { $out{error} = { code => -32603, message => 'the spring is broken' } }
  else { $out{result} = {} }
  print encode_json(\\%out), "\\n";
}
`,
  );
  chmodSync(path, 0o755);
}
const clock: Pick<Scene, "config" | "prepare"> = {
  config: (config, { workspace }) =>
    void Object.assign(config, {
      mcp: { clock: { type: "local", command: [join(workspace, "clock.pl")], enabled: true } },
    }),
  prepare: ({ workspace }) => writeServer(join(workspace, "clock.pl")),
};

/** Runs that go well, with tools. */
export const TENTH_TOOLS: readonly Scene[] = named([
  { name: "bash-much", script: acts([[bash("seq 1 150000")]]), label: fine("a command prints a megabyte", 1) },
  {
    name: "bash-one-long-line",
    script: acts([[bash("head -c 70000 /dev/zero | tr '\\0' x")]]),
    label: fine("a command prints one line of 70,000 characters", 1),
  },
  {
    name: "bash-exits-127",
    script: acts([[bash("no-such-program --version")]]),
    label: fine("a command that is not found", 1),
  },
  {
    name: "bash-words-of-failure",
    script: acts([[bash("echo 'ERROR statusCode=429 Rate limit reached'; echo '{\"type\":\"error\"}'; exit 1")]]),
    label: fine("a command prints what a provider might", 1),
  },
  {
    name: "bash-git",
    prepare: file("a.c", "int a;\n"),
    script: acts([[bash("git init -q . && git add -A && git status --short")]]),
    label: fine("a command makes a repository", 1),
  },
  {
    name: "bash-cut-off",
    script: acts([[bash("echo waiting; sleep 90", { timeout: 1500 })]]),
    label: fine("a command meets its own time limit", 1),
  },
  {
    name: "many-over-three-steps",
    prepare: file("in.csv", "a,b\n1,2\n"),
    script: acts([
      [call("read", { filePath: "in.csv" }), bash("wc -l in.csv"), bash("false")],
      [call("write", { filePath: "out/b.csv", content: "b\n2\n" }), bash("cat in.csv")],
      [bash("ls out")],
    ]),
    label: fine("six calls in three steps", 6),
  },
  {
    name: "many-reads",
    prepare: file("one.md", "# One\n"),
    script: acts([
      [call("read", { filePath: "one.md" }), call("read", { filePath: "two.md" })],
      [call("glob", { pattern: "**/*.md" })],
      [bash("echo end")],
    ]),
    label: fine("two reads of which one fails, a search, a command", 4),
  },
  {
    name: "edit-everywhere",
    prepare: file("src/app.py", "x = 1\ny = x\nz = x\n"),
    script: acts([
      [call("read", { filePath: "src/app.py" })],
      [call("edit", { filePath: "src/app.py", oldString: "x", newString: "n", replaceAll: true })],
    ]),
    label: fine("a name is changed everywhere in a file", 2),
  },
  {
    name: "edit-in-two-places",
    prepare: file("conf.ini", "[a]\nk=1\n[b]\nk=2\n"),
    script: acts([
      [call("read", { filePath: "conf.ini" })],
      [call("edit", { filePath: "conf.ini", oldString: "k=1", newString: "k=10" })],
      [call("edit", { filePath: "conf.ini", oldString: "k=2", newString: "k=20" })],
    ]),
    label: fine("a file is read, and changed twice", 3),
  },
  {
    name: "edit-unseen-file",
    prepare: file("LICENSE", "Do what you want.\n"),
    script: acts([[call("edit", { filePath: "LICENSE", oldString: "You may not", newString: "You may" })]]),
    label: fine("an edit of a file that was not read, of words that it does not have", 1),
  },
  {
    name: "search-for-a-function",
    prepare: file("lib/f.go", "func Parse() {}\n"),
    script: acts([[call("grep", { pattern: "func \\w+", include: "*.go" }), call("glob", { pattern: "lib/*" })]]),
    label: fine("two searches in one step", 2),
  },
  {
    name: "read-a-folder-that-is-not",
    script: acts([[call("read", { filePath: "docs/old/README.md", offset: 10 })]]),
    label: fine("a file is read that is not there", 1),
  },
  {
    name: "write-two",
    script: acts([
      [
        call("write", { filePath: "a/b/c.json", content: '{"ok":true}\n' }),
        call("write", { filePath: "d.txt", content: "" }),
      ],
    ]),
    label: fine("two files are written, one of them empty", 2),
  },
  {
    name: "todo-four",
    script: acts([
      [todo("in_progress", "pending", "pending", "pending")],
      [todo("completed", "in_progress", "pending", "pending")],
      [todo("completed", "completed", "completed", "cancelled")],
    ]),
    label: fine("a plan of four steps, the last given up", 3),
  },
  {
    name: "todo-and-command",
    script: acts([[todo("in_progress"), bash("echo mend")], [todo("completed")]]),
    label: fine("a plan and a command in one step", 3),
  },
  {
    name: "subagent-explores",
    script: acts([[task("subagent-explores", "explore")]]),
    child: acts([[call("glob", { pattern: "*" })], [bash("echo seen")]], "There is nothing."),
    label: fine("a subagent of another kind makes two calls", 1),
  },
  {
    name: "subagent-refused",
    script: acts([[task("subagent-refused"), bash("echo beside")]]),
    child: refusal(400, { message: "Unsupported value: 'temperature'.", code: "unsupported_value" }),
    label: fine("a subagent's request is refused, a command beside it is not", 2),
  },
  {
    name: "subagent-of-no-kind",
    script: acts([[task("subagent-of-no-kind", "wizard")]]),
    label: fine("a kind of subagent that is not there", 1),
  },
  {
    name: "subagent-outside",
    config: allow({ external_directory: "deny" }),
    script: acts([[task("subagent-outside")]]),
    child: acts([[call("read", { filePath: "/etc/hosts" })]], "I may not."),
    label: fine("a subagent meets a rule against files outside", 1),
  },
  {
    name: "subagent-asks",
    config: allow({ webfetch: "ask" }),
    script: acts([[task("subagent-asks")]]),
    child: acts([[call("webfetch", { url: "http://127.0.0.1:9/", format: "text" })]], "I was not let."),
    label: fine("a question of a subagent is rejected, and the run goes on", 1),
  },
  {
    ...clock,
    name: "mcp-clock",
    script: acts([[call("clock_now", {}), call("clock_wind", {})]]),
    label: fine("two tools of a server, one ends in an error of the protocol", 2),
  },
  {
    ...clock,
    name: "mcp-clock-anthropic",
    api: "messages",
    script: acts([[call("clock_wind", {})], [call("clock_now", {})]]),
    label: fine("the same one after the other, through another API", 2),
  },
  {
    name: "anthropic-two-commands",
    api: "messages",
    script: acts([[bash("echo a"), bash("exit 9")]]),
    label: fine("two commands through another API", 2),
  },
  {
    name: "anthropic-edit",
    api: "messages",
    config: model("claude-none-5"),
    prepare: file("n.txt", "old\n"),
    script: acts([
      [call("read", { filePath: "n.txt" })],
      [call("edit", { filePath: "n.txt", oldString: "old", newString: "new" })],
    ]),
    label: fine("a file is changed through another API", 2),
  },
  {
    name: "responses-command",
    config: ({ provider }) => void (provider.lab.npm = "@ai-sdk/openai"),
    script: acts([[bash("echo r")]]),
    label: fine("a command through a third API", 1),
  },
  {
    name: "environment-printed",
    config: ({ provider }) => void (provider.lab.options["apiKey"] = "{env:LAB_SECRET}"),
    env: { LAB_SECRET: "FAKE-KEY-T" },
    script: acts([[bash("env | sort")]]),
    label: fine("the key is in a variable, which a command prints", 1),
  },
  {
    name: "background-left",
    script: acts([[bash("(setsid sleep 15 >/dev/null 2>&1 &); echo left")]]),
    label: fine("a command leaves a process behind", 1),
  },
  {
    name: "webfetch-refused",
    script: acts([[call("webfetch", { url: "http://127.0.0.1:9/doc", format: "markdown" })]]),
    label: fine("a page that cannot be fetched", 1),
  },
  {
    name: "arguments-missing",
    script: acts([[call("write", { filePath: "x.txt" })]]),
    label: fine("a call lacks an argument", 1),
  },
  {
    name: "arguments-not-json",
    script: acts([[{ type: "tool_call", name: "read", input: {}, written: '{"filePath": "a.txt' }]]),
    label: fine("the arguments of a call are cut off", 1),
  },
  {
    name: "tool-of-another-cli",
    script: acts([[call("str_replace_editor", { command: "view", path: "/" })]]),
    label: fine("a tool of another program", 1),
  },
  {
    name: "tool-of-another-cli-anthropic",
    api: "messages",
    script: acts([[call("Bash", { command: "ls" }), bash("ls")]]),
    label: fine("a tool's name in other letters, and the right one", 2),
  },
  {
    name: "question-asked",
    script: acts([[call("question", { questions: [{ question: "Which?", header: "Q", options: [] }] })]]),
    label: fine("the tool that asks a person is not offered", 1),
  },
]);
