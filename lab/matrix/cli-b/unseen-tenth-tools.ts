import { wholeFile, type CliBCase } from "./case.ts";
import { answer, answerWith, call, patch, shell, text, thought } from "./replies.ts";
import { early, END, fine, instead, repository, SAID, WITHOUT_NAMESPACES } from "./unseen-tenth-parts.ts";

const SUMS = String.raw`
use strict; use warnings; use JSON::PP; $| = 1;
my %sum = (add => sub { $_[0] + $_[1] }, divide => sub { $_[0] / $_[1] });
while (my $line = <STDIN>) {
  my $m = decode_json($line); next unless defined $m->{id};
  my %out = (jsonrpc => '2.0', id => $m->{id});
  if ($m->{method} eq 'initialize') { $out{result} = { protocolVersion => $m->{params}{protocolVersion}, capabilities => { tools => {} }, serverInfo => { name => 'sums', version => '3' } } }
  elsif ($m->{method} eq 'tools/list') { $out{result} = { tools => [ map { { name => $_, description => "to $_", inputSchema => { type => 'object', properties => { a => { type => 'number' }, b => { type => 'number' } } } } } sort keys %sum ] } }
  elsif ($m->{method} eq 'tools/call') {
    my $p = $m->{params}; my $v = eval { $sum{$p->{name}}->(@{$p->{arguments}}{qw(a b)}) };
    if (defined $v) { $out{result} = { content => [ { type => 'text', text => "$v" } ] } } else { $out{error} = { code => -32000, message => "$@" } }
  } else { $out{result} = {} }
  print encode_json(\%out), "\n";
}`;
const sums = wholeFile(`[mcp_servers.sums]
command = "perl"
args = ["-e", ${JSON.stringify(SUMS)}]
default_tools_approval_mode = "approve"
`);

/** Runs that go well, as the shared recordings of tools go, with other tools, files and orders. */
export const TENTH_TOOLS: readonly CliBCase[] = [
  {
    name: "tenth-text-with-code",
    label: fine("one message with a block of code", { text: "Here:\n\n```sh\nset -e\n```\n\n- one\n- two" }),
    replies: [answer(text("Here:\n\n```sh\nset -e\n```\n\n- one\n- two"))],
  },
  {
    name: "tenth-thought-then-two-texts",
    label: fine("a thought and two messages in one answer"),
    replies: [answer(thought("What is asked?"), text("A moment."), text(SAID))],
  },
  {
    name: "tenth-shell-awk",
    label: fine("a command prints squares", { tools: 1 }),
    replies: [answer(shell("awk 'BEGIN { for (i = 1; i < 4; i++) print i * i }'")), END],
  },
  {
    name: "tenth-shell-exits-two",
    label: fine("a command ends with 2 and says why", { tools: 1 }),
    replies: [answer(shell("ls /nowhere/at/all; exit 2")), END],
  },
  {
    name: "tenth-shell-says-401",
    label: fine("a command prints what a provider says of a bad key", { tools: 1 }),
    replies: [
      answer(shell("echo 'unexpected status 401 Unauthorized: Incorrect API key provided: sk-x' >&2; exit 22")),
      END,
    ],
  },
  {
    name: "tenth-shell-left-open",
    label: fine("a command is still open when the turn ends", { tools: 1 }),
    replies: [answer(shell("echo watching; exec tail -f /dev/null", 700)), END],
  },
  {
    name: "tenth-tools-of-another-name",
    label: fine("three tools that this CLI does not have are asked for"),
    replies: [
      answer(call("container.exec", { cmd: ["bash", "-lc", "ls"] })),
      answer(call("str_replace_editor", { command: "view", path: "/workspace" }), call("python", "print(1)")),
      END,
    ],
  },
  {
    name: "tenth-shell-three-at-once",
    label: fine("three commands in one answer, the middle one fails", { tools: 3 }),
    replies: [answer(shell("sleep 0.4; echo slow"), shell("cat missing.txt"), shell("pwd")), END],
  },
  {
    name: "tenth-shell-one-after-another",
    label: fine("four commands, one an answer, with remarks between them", { tools: 4 }),
    replies: [
      answer(text("First I look."), shell("ls -la")),
      answer(shell("mkdir -p src && echo 'int main;' >src/main.c")),
      answer(text("Now I count."), shell("wc -c src/main.c")),
      answer(shell("rm -r src")),
      END,
    ],
  },
  {
    name: "tenth-shell-in-terminal",
    label: fine("without unified_exec, a command in a terminal and one that fails, by no login shell", { tools: 2 }),
    variables: { toml: wholeFile("[features]\nunified_exec = false") },
    replies: [
      answer(call("exec_command", { cmd: "tty; echo old way", tty: true })),
      answer(call("exec_command", { cmd: "test -e missing.txt", login: false })),
      END,
    ],
  },
  {
    name: "tenth-shell-ends-behind",
    label: fine("a command that was left running ends while a second one runs", { tools: 2 }),
    replies: [answer(shell("sleep 1; echo first is over", 250)), answer(shell("sleep 2.5; echo second")), END],
  },
  {
    name: "tenth-shell-much-output",
    label: fine("a command prints two megabytes", { tools: 1 }),
    replies: [answer(shell("seq 1 300000")), END],
  },
  {
    name: "tenth-patch-moves",
    label: fine("a file is added, then renamed and changed", { tools: 2 }),
    replies: [
      answer(patch("*** Add File: src/old.py\n+def f():\n+    return 1")),
      answer(
        patch("*** Update File: src/old.py\n*** Move to: src/new.py\n@@\n def f():\n-    return 1\n+    return 2"),
      ),
      END,
    ],
  },
  {
    name: "tenth-patch-fits-nothing",
    label: fine("two patches: one whose context is not there, one that is no patch"),
    prepare: ({ shell: run, workspace }) =>
      run(`echo hello >${workspace}/greet.txt; chown 1000 ${workspace}/greet.txt`),
    replies: [
      answer(patch("*** Update File: greet.txt\n@@\n-good night\n+good day")),
      answer(patch("*** Change File: greet.txt\n+what")),
      END,
    ],
  },
  {
    name: "tenth-plan-of-three",
    label: fine("a plan of three steps, and a step that is done"),
    replies: [
      answer(
        call("update_plan", {
          explanation: "Order matters.",
          plan: [
            { step: "Read", status: "completed" },
            { step: "Change", status: "in_progress" },
            { step: "Test", status: "pending" },
          ],
        }),
      ),
      END,
    ],
  },
  {
    name: "tenth-mcp-sums",
    label: fine("a tool of a server adds, another ends in an error of the protocol", { tools: 2 }),
    variables: { toml: sums },
    replies: [answer(call("mcp__sums/add", { a: 2, b: 5 }), call("mcp__sums/divide", { a: 1, b: 0 })), END],
  },
  {
    name: "tenth-mcp-server-ends-at-once",
    label: fine("a server that nobody requires ends as it starts"),
    variables: { toml: wholeFile('[mcp_servers.flaky]\ncommand = "/bin/false"') },
    replies: [END],
  },
  {
    name: "tenth-no-usage-after-tool",
    label: fine("no answer of the provider has a usage", { tools: 1 }),
    replies: [answerWith(null, shell("date +%Y")), answerWith(null, text(SAID))],
  },
  {
    name: "tenth-read-only-writes",
    label: fine("a command writes in the read-only sandbox, and fails", { tools: 1, also: ["sandbox_unavailable"] }),
    variables: { CLI_B_SANDBOX_MODE: "read-only" },
    replies: [answer(shell("date >stamp.txt || echo 'cannot write'; sleep 0.3")), END],
  },
  {
    name: "tenth-read-only-patch",
    label: fine("a patch in the read-only sandbox is refused"),
    variables: { CLI_B_SANDBOX_MODE: "read-only" },
    replies: [answer(patch("*** Add File: deep/er/file.md\n+# Title")), END],
  },
  {
    name: "tenth-workspace-write-patch",
    label: fine("a patch in the workspace's sandbox", { tools: 1 }),
    variables: { CLI_B_SANDBOX_MODE: "workspace-write" },
    replies: [answer(patch("*** Add File: pages/note.md\n+# Note\n+\n+text")), END],
  },
  {
    name: "tenth-escalation-refused",
    label: fine("a command asks to run outside of the sandbox, and may not"),
    variables: { CLI_B_SANDBOX_MODE: "read-only" },
    replies: [
      answer(
        call("exec_command", {
          cmd: "apt-get install -y jq",
          sandbox_permissions: "require_escalated",
          justification: "jq is missing",
        }),
      ),
      END,
    ],
  },
  {
    name: "tenth-approval-on-request",
    label: fine("another policy of approvals, which exec does not ask by", { tools: 1 }),
    args: (args) => args.map((word) => (word === 'approval_policy="never"' ? 'approval_policy="on-request"' : word)),
    replies: [answer(shell("uname -s")), END],
  },
  {
    name: "tenth-no-namespaces-no-sandbox",
    label: fine("no namespace can be made, and none is wanted", { tools: 1 }),
    within: WITHOUT_NAMESPACES,
    replies: [answer(shell("echo free")), END],
  },
  {
    name: "tenth-no-namespaces-sandboxed",
    label: fine("no namespace can be made: commands fail, the turn completes", {
      tools: 1,
      also: ["sandbox_unavailable"],
    }),
    variables: { CLI_B_SANDBOX_MODE: "workspace-write" },
    within: WITHOUT_NAMESPACES,
    replies: [answer(shell("echo boxed")), END],
  },
  {
    name: "tenth-schema-and-last-message",
    label: fine("an answer by a schema, which is put into a file too", { text: '{"verdict":"ok","score":3}' }),
    outputSchema:
      '{"type":"object","properties":{"verdict":{"type":"string"},"score":{"type":"integer"}},"required":["verdict","score"],"additionalProperties":false}',
    args: (args, { workspace }) => early("-o", `${workspace}/last.json`)(args),
    replies: [answer(text('{"verdict":"ok","score":3}'))],
  },
  {
    name: "tenth-background-left",
    label: fine("two processes are left in the background", { tools: 1 }),
    replies: [answer(shell("(setsid sleep 8 >/dev/null 2>&1 &) ; nohup sleep 6 >/dev/null 2>&1 & echo left")), END],
  },
  {
    name: "tenth-sessions-folder-closed",
    label: fine("the folder of this year's histories cannot be written", { also: ["storage_error"] }),
    prepare: ({ shell: run, codexHome }) =>
      run(
        `mkdir -p ${codexHome}/sessions/$(date +%Y) && chown -R 0:0 ${codexHome}/sessions && chmod 755 ${codexHome}/sessions`,
      ),
    replies: [END],
  },
  {
    name: "tenth-disk-filled-by-tool",
    label: fine("a command fills the home's disk: the turn goes on", { tools: 2, also: ["storage_error"] }),
    prepareHome: ({ shell: run, codexHome }) =>
      run(`mount -t tmpfs -o size=16m,mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`),
    replies: [
      answer(shell('dd if=/dev/zero of="${CODEX_HOME:-$HOME/codex}/fill" bs=64k 2>/dev/null; echo filled')),
      answer(shell("seq 1 4000")),
      END,
    ],
  },
  {
    name: "tenth-review-of-commit",
    label: fine("a review of the last commit", { text: "No findings." }),
    mode: "review",
    prepare: repository,
    args: instead("--commit", "HEAD"),
    replies: [
      answer(
        text(
          '{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"No findings.","overall_confidence_score":0.7}',
        ),
      ),
    ],
  },
  {
    name: "tenth-question-to-nobody",
    label: fine("the model asks two questions, and nobody can be asked"),
    replies: [
      answer(
        call("request_user_input", {
          questions: [
            { id: "db", header: "Base", question: "Which one?", options: [{ label: "x", description: "y" }] },
            { id: "ok", header: "Go", question: "Shall I?", options: [{ label: "yes", description: "do" }] },
          ],
        }),
      ),
      END,
    ],
  },
  {
    name: "tenth-image-of-nothing",
    label: fine("the model looks at a file that is no image, and at none"),
    prepare: ({ shell: run, workspace }) => run(`echo text >${workspace}/a.png; chown 1000 ${workspace}/a.png`),
    replies: [answer(call("view_image", { path: "gone.png" })), END],
  },
  {
    name: "tenth-environment-printed",
    label: fine("a command prints the environment", { tools: 1 }),
    replies: [answer(shell("printenv | sort | head -50")), END],
  },
  {
    name: "tenth-parents-environment",
    label: fine("a command prints the CLI's environment and is still open at the end", { tools: 1 }),
    replies: [answer(shell("tr '\\0' '\\n' </proc/$PPID/environ | cut -c1-12; sleep 45", 800)), END],
  },
];
