import { wholeFile, type CliBCase } from "./case.ts";
import { answer, answerWith, broken, call, patch, refusal, shell, text, thought } from "./replies.ts";
import { DONE, fails, insert, works } from "./unseen-ninth-parts.ts";

/** A server with the tools `search` and `delete`, of which the second fails. */
const SERVER = String.raw`
use strict; use warnings; use JSON::PP; $| = 1;
while (my $line = <STDIN>) {
  my $m = decode_json($line); next unless defined $m->{id};
  my $n = $m->{method};
  my $r = $n eq 'initialize'
    ? { protocolVersion => $m->{params}{protocolVersion}, capabilities => { tools => {} }, serverInfo => { name => 'tickets', version => '3' } }
    : $n eq 'tools/list'
    ? { tools => [ map { { name => $_, description => $_, inputSchema => { type => 'object', properties => {} } } } qw(search delete) ] }
    : $n eq 'tools/call' && $m->{params}{name} eq 'search'
    ? { content => [ { type => 'text', text => 'TICKET-7' } ], isError => JSON::PP::false }
    : $n eq 'tools/call'
    ? { content => [ { type => 'text', text => 'permission denied: 403' } ], isError => JSON::PP::true }
    : {};
  print encode_json({ jsonrpc => '2.0', id => $m->{id}, result => $r }), "\n";
}`;
const tickets = (more = ""): string =>
  wholeFile(`[mcp_servers.tickets]
command = "/usr/bin/perl"
args = ["-e", ${JSON.stringify(SERVER)}]
default_tools_approval_mode = "approve"
${more}`);
const READ_ONLY = { CLI_B_SANDBOX_MODE: "read-only" };
/** As the completed runs of the shared recordings, with other commands, files and orders. */
export const NINTH_TOOL_CASES: readonly CliBCase[] = [
  works(
    "ninth-text",
    "plain text",
    [answer(thought("Short."), text("It is a library for dates.\n\n- no dependencies"))],
    {
      label: { text: "It is a library for dates.\n\n- no dependencies" },
    },
  ),
  works("ninth-shell", "a command succeeds", [answer(text("I look."), shell("ls -la /usr/lib | head -3")), DONE], {
    label: { tools: 1 },
  }),
  works("ninth-shell-fails", "a command exits 2", [answer(shell("grep -q x /nowhere")), answer(text("Not there."))], {
    label: { text: "Not there.", tools: 1 },
  }),
  works(
    "ninth-shell-still-open",
    "a command is open when the turn ends",
    [answer(shell("sleep 20; echo late", 400)), DONE],
    {
      label: { tools: 1 },
    },
  ),
  works("ninth-other-tool-names", "tools by other names, which stderr alone tells", [
    answer(call("shell", { command: ["ls"] })),
    answer(call("container.exec", { cmd: "ls" }), call("read_file", { path: "a" })),
    DONE,
  ]),
  works(
    "ninth-shell-parallel",
    "three commands in one answer",
    [answer(shell("echo one"), shell("sleep 0.2; echo two"), shell("echo three >&2")), DONE],
    { label: { tools: 3 } },
  ),
  works(
    "ninth-shell-many",
    "several commands one after another",
    [
      answer(shell("mkdir -p a/b")),
      answer(text("Next."), shell("touch a/b/c")),
      answer(shell("find a -type f")),
      answer(shell("rm -r a")),
      DONE,
    ],
    { label: { tools: 4 } },
  ),
  works(
    "ninth-other-shell-tool",
    "unified_exec is off: the other shell tool, which 0.169.0 does not offer even then",
    [
      answer(call("shell_command", { command: "exit 9" })),
      answer(call("shell_command", { command: "echo fine" })),
      DONE,
    ],
    { variables: { toml: wholeFile("[features]\nunified_exec = false") }, label: { tools: 0 } },
  ),
  works(
    "ninth-background-ends",
    "a background command ends during the turn",
    [answer(shell("sleep 0.8; echo built", 250)), answer(shell("sleep 1.5; echo waited")), DONE],
    { label: { tools: 2 } },
  ),
  works(
    "ninth-patch",
    "a patch adds, moves and changes",
    [
      answer(patch("*** Add File: src/lib.rs\n+pub fn one() {}")),
      answer(patch("*** Update File: src/lib.rs\n*** Move to: src/main.rs\n@@\n-pub fn one() {}\n+fn main() {}")),
      DONE,
    ],
    { label: { tools: 2 } },
  ),
  works(
    "ninth-patch-rejected",
    "a patch whose lines are not in the file, one without an end",
    [
      answer(patch("*** Update File: none.py\n@@\n-a = 1\n+a = 2")),
      answer(shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: gone.txt\nEOF")),
      answer(text("I could not.")),
    ],
    { label: { text: "I could not.", tools: 0 } },
  ),
  works(
    "ninth-plan",
    "a plan by a tool that 0.169.0 has no more",
    [
      answer(
        call("update_plan", {
          explanation: "Two parts",
          plan: [
            { step: "Read", status: "pending" },
            { step: "Write", status: "pending" },
          ],
        }),
      ),
      answer(shell("echo reading")),
      answer(call("update_plan", { plan: [{ step: "Read", status: "completed" }] })),
      DONE,
    ],
    { label: { tools: 1 } },
  ),
  works(
    "ninth-mcp-one-fails",
    "MCP tools, the second fails",
    [
      answer(call("mcp__tickets/search", {})),
      answer(call("mcp__tickets/delete", {})),
      answer(text("I may not delete.")),
    ],
    { variables: { toml: tickets() }, label: { text: "I may not delete.", tools: 2 } },
  ),
  works(
    "ninth-mcp-other-gone",
    "an MCP tool, another server does not start and is not required",
    [answer(call("mcp__tickets/search", {}), shell("echo beside it")), DONE],
    {
      variables: { toml: tickets('[mcp_servers.wiki]\ncommand = "/opt/wiki/server"\nstartup_timeout_sec = 2') },
      label: { tools: 2 },
    },
  ),
  works(
    "ninth-no-usage",
    "the provider sends no usage, after a command",
    [answerWith(null, shell("echo free")), answerWith(null, text("Done."))],
    { label: { tools: 1 } },
  ),
  works("ninth-usage-zero", "a local server counts nothing", [
    answerWith({ input_tokens: 0, output_tokens: 0, total_tokens: 0 }, text("Done.")),
  ]),
  works(
    "ninth-read-only",
    "commands in the read-only sandbox",
    [answer(shell("cat /etc/hostname")), answer(shell("touch here.txt")), answer(text("I can only read."))],
    { variables: READ_ONLY, label: { text: "I can only read.", tools: 1 } },
  ),
  works(
    "ninth-read-only-patch",
    "a patch in the read-only sandbox is refused",
    [answer(patch("*** Add File: CHANGES.md\n+one")), DONE],
    { variables: READ_ONLY },
  ),
  works(
    "ninth-workspace-patch",
    "a patch in the workspace sandbox",
    [answer(patch("*** Add File: CHANGES.md\n+one"), text("Applied.")), answer(shell("cat CHANGES.md")), DONE],
    { variables: { CLI_B_SANDBOX_MODE: "workspace-write" }, label: { tools: 2 } },
  ),
  works(
    "ninth-escalation",
    "a command asks to leave the sandbox and may not",
    [
      answer(
        call("exec_command", {
          cmd: "apt-get install -y jq",
          sandbox_permissions: "require_escalated",
          justification: "jq is missing",
        }),
      ),
      answer(shell("command -v sh")),
      DONE,
    ],
    { variables: { CLI_B_SANDBOX_MODE: "workspace-write" }, label: { tools: 1 } },
  ),
  fails("ninth-untrusted", "config_invalid", "the untrusted policy, which 0.169.0 has no more", DONE, {
    args: (args) => args.map((word) => (word === 'approval_policy="never"' ? 'approval_policy="untrusted"' : word)),
  }),
  works("ninth-schema-and-file", "an answer by a schema, also into a file", [answer(text('{"files":["a","b"]}'))], {
    outputSchema:
      '{"type":"object","properties":{"files":{"type":"array","items":{"type":"string"}}},"required":["files"],"additionalProperties":false}',
    args: insert("-o", "/tmp/ninth-last.txt"),
    label: { text: '{"files":["a","b"]}' },
  }),
  works(
    "ninth-background-left",
    "background processes are left at the end",
    [answer(shell("(sleep 15 &) ; (sleep 15 & sleep 15 &) ; echo left")), DONE],
    { label: { tools: 1 } },
  ),
  works(
    "ninth-user-input",
    "nobody can be asked",
    [
      answer(
        call("request_user_input", {
          questions: [{ id: "name", header: "Name", question: "What name?", options: [] }],
        }),
      ),
      answer(text("Then I choose.")),
    ],
    { label: { text: "Then I choose." } },
  ),
  works("ninth-image-missing", "an image that is not there", [
    answer(call("view_image", { path: "figures/plot.png" })),
    DONE,
  ]),
  works(
    "ninth-environment",
    "a tool prints the environment, a dummy key is visible",
    [answer(shell("env | grep -c . ; echo $LAB_DUMMY")), DONE],
    { env: { LAB_DUMMY: "FAKE-LAB-KEY-C" }, label: { tools: 1 } },
  ),
  works(
    "ninth-environment-of-parent",
    "a command that reads its parent's environment is open at the end",
    [answer(shell("tr '\\0' '\\n' </proc/$PPID/environ | cut -d= -f1; sleep 12", 300)), DONE],
    { label: { tools: 1 } },
  ),
  works(
    "ninth-compacted",
    "compacted by itself",
    [answer(shell("seq 1 30")), answer(text("So far: numbers.")), answer(text("Done."))],
    {
      variables: { toml: wholeFile("model_auto_compact_token_limit = 60\nmodel_context_window = 64000") },
      label: { tools: 1 },
    },
  ),
  works("ninth-cut-then-whole", "two streams are cut, the third is whole", [broken("close"), broken("reset"), DONE], {
    variables: { toml: wholeFile().replace("stream_max_retries = 1", "stream_max_retries = 4") },
  }),
  works(
    "ninth-refused-then-whole",
    "a 500 after a command, then the answer",
    [
      answer(shell("echo one")),
      refusal(500, {
        message: "The server had an error while processing your request. Sorry about that!",
        type: "server_error",
      }),
      DONE,
    ],
    { label: { tools: 1 } },
  ),
  works(
    "ninth-built-in-provider",
    "the built-in provider at another address: the transport changes after failures",
    [DONE],
    {
      variables: { toml: 'model = "gpt-5.5"\nopenai_base_url = "{url}"\nsandbox_mode = "danger-full-access"\n' },
      env: { CODEX_API_KEY: "FAKE-LAB-KEY-A", OPENAI_API_KEY: "FAKE-LAB-KEY-A" },
    },
  ),
];
