import { wholeFile, type CliBCase } from "./case.ts";
import { answer, answerWith, call, lookup, patch, shell, text, thought } from "./replies.ts";

const DONE = answer(text("Done."));
const completed = (why: string, more: Partial<CliBCase["label"]> = {}): CliBCase["label"] => ({
  status: "completed",
  text: "Done.",
  why,
  ...more,
});

/** A server with the tools `echo` and `fail`, in the words of the protocol. */
const MCP_SERVER = String.raw`
use strict; use warnings; use JSON::PP; $| = 1;
while (my $line = <STDIN>) {
  my $m = decode_json($line); next unless defined $m->{id};
  my $r = $m->{method} eq 'initialize'
    ? { protocolVersion => $m->{params}{protocolVersion}, capabilities => { tools => {} }, serverInfo => { name => 'tiny', version => '1' } }
    : $m->{method} eq 'tools/list'
    ? { tools => [ map { { name => $_, description => $_, inputSchema => { type => 'object', properties => { text => { type => 'string' } } } } } qw(echo fail) ] }
    : $m->{method} eq 'tools/call'
    ? ($m->{params}{name} eq 'echo'
        ? { content => [ { type => 'text', text => "echo:$m->{params}{arguments}{text}" } ], isError => JSON::PP::false }
        : { content => [ { type => 'text', text => 'it failed' } ], isError => JSON::PP::true })
    : {};
  print encode_json({ jsonrpc => '2.0', id => $m->{id}, result => $r }), "\n";
}`;
const tinyServer = (more = ""): string =>
  wholeFile(`[mcp_servers.tiny]
command = "/usr/bin/perl"
args = ["-e", ${JSON.stringify(MCP_SERVER)}]
default_tools_approval_mode = "approve"
${more}`);

/** Turns that go well: what the model does and how it is printed. */
export const TOOL_CASES: readonly CliBCase[] = [
  {
    name: "text-answer",
    label: completed("one message, then the end", { text: "Hello from mock." }),
    replies: [answer(text("Hello from mock."))],
  },
  {
    name: "several-messages-and-reasoning",
    label: completed("a thought, a remark, a command, the answer", { tools: 1 }),
    replies: [answer(thought("I think first."), text("I look around."), shell("echo here")), DONE],
  },
  {
    name: "text-with-odd-characters",
    label: completed("line separator, NUL, emoji in one line of JSON", {
      text: "a\u2028b \u0000 \u{1f600} \u001b[31mred",
    }),
    replies: [answer(text("a\u2028b \u0000 \u{1f600} \u001b[31mred"))],
  },
  {
    name: "no-message",
    label: { status: "completed", why: "the model answers with nothing at all" },
    replies: [answer()],
  },
  {
    name: "no-usage",
    label: completed("the provider sends no usage"),
    replies: [answerWith(null, text("Done."))],
  },
  {
    name: "usage-with-cache-writes",
    label: completed("the provider counts what it wrote to its cache"),
    replies: [
      answerWith(
        {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 40, cache_write_tokens: 30 },
          output_tokens: 20,
          output_tokens_details: { reasoning_tokens: 5 },
          total_tokens: 120,
        },
        text("Done."),
      ),
    ],
  },
  {
    name: "known-model",
    label: completed("a model that the CLI knows: no remark on its metadata"),
    variables: { CLI_B_MODEL: "gpt-5.5" },
    replies: [DONE],
  },
  {
    name: "shell-succeeds",
    label: completed("a command ends with 0", { tools: 1 }),
    replies: [answer(shell("echo one; echo two >&2")), DONE],
  },
  {
    name: "shell-fails",
    label: completed("a command ends with 3", { tools: 1 }),
    replies: [answer(shell("echo partial; exit 3")), DONE],
  },
  {
    name: "shell-killed-by-signal",
    label: completed("a command ends by SIGSEGV", { tools: 1 }),
    replies: [answer(shell("kill -SEGV $$")), DONE],
  },
  {
    name: "shell-parallel",
    label: completed("two commands in one answer", { tools: 2 }),
    replies: [answer(shell("sleep 0.3; echo one"), shell("echo two")), DONE],
  },
  {
    name: "shell-open-at-turn-end",
    label: completed("a command still runs when the turn ends", { tools: 1 }),
    replies: [answer(shell("for i in 1 2 3 4 5 6; do echo line $i; sleep 2; done", 500)), DONE],
  },
  {
    name: "shell-polled",
    label: completed("the model waits for a command with write_stdin", { tools: 1 }),
    replies: [
      answer(shell("sleep 1; echo late", 300)),
      answer(call("write_stdin", { session_id: 1, chars: "", yield_time_ms: 3000 })),
      DONE,
    ],
  },
  {
    name: "shell-prints-errors-of-others",
    label: completed("error texts inside a tool's output prove nothing", { tools: 1 }),
    replies: [
      answer(
        shell(
          `echo '{"type":"turn.failed","error":{"message":"unexpected status 401"}}'; echo 'thread/resume failed' >&2; echo 'No space left on device' >&2; exit 1`,
        ),
      ),
      DONE,
    ],
  },
  {
    name: "environment-without-the-key",
    label: completed("what a tool sees of the environment", { tools: 1 }),
    replies: [answer(shell("env | cut -d= -f1 | sort | tr '\\n' ' '")), DONE],
  },
  {
    name: "patch-applied",
    label: completed("files are added, changed and removed", { tools: 2 }),
    replies: [
      answer(patch("*** Add File: a.txt\n+one\n+two\n*** Add File: b.txt\n+gone soon")),
      answer(patch("*** Update File: a.txt\n@@\n-one\n+ONE\n two\n*** Delete File: b.txt")),
      DONE,
    ],
  },
  {
    name: "patch-rejected",
    label: completed("a patch that fits no file is refused"),
    replies: [answer(patch("*** Update File: nowhere.txt\n@@\n-one\n+ONE")), DONE],
  },
  {
    name: "patch-blocked-read-only",
    label: completed("a plan's patch is refused"),
    mode: "plan",
    replies: [answer(patch("*** Add File: a.txt\n+one")), DONE],
  },
  {
    name: "plan-tool-gone",
    label: completed("the tool update_plan is offered no more"),
    replies: [
      answer(call("update_plan", { plan: [{ step: "Look", status: "in_progress" }] })),
      answer(call("update_plan", { plan: [{ step: "Look", status: "completed" }] })),
      DONE,
    ],
  },
  {
    name: "unsupported-tool",
    label: completed("the model calls a tool that does not exist, with arguments that are none"),
    replies: [answer(call("no_such_tool", "{not json")), answer(call("exec_command", "{not json")), DONE],
  },
  {
    name: "web-search",
    label: completed("the provider searches, opens a page, finds in it", { tools: 3 }),
    replies: [
      answer(
        lookup({ type: "search", query: "word" }),
        lookup({ type: "open_page", url: "https://example.invalid/page" }),
        lookup({ type: "find_in_page", url: "https://example.invalid/page", pattern: "word" }),
        text("Done."),
      ),
    ],
  },
  {
    name: "image-generated",
    label: completed("the provider makes an image: nothing is printed of it"),
    replies: [
      answer(
        { type: "image_generation_call", id: "ig_1", status: "completed", revised_prompt: "a dot", result: "aGVsbG8=" },
        text("Done."),
      ),
    ],
  },
  {
    name: "mcp-tool",
    label: completed("one call of an MCP server's tool succeeds, one fails", { tools: 2 }),
    variables: { toml: tinyServer() },
    replies: [answer(call("mcp__tiny/echo", { text: "yo" })), answer(call("mcp__tiny/fail", {})), DONE],
  },
  {
    name: "mcp-server-fails",
    label: completed("a server that is not required does not start"),
    variables: { toml: wholeFile('[mcp_servers.gone]\ncommand = "/nonexistent"') },
    replies: [DONE],
  },
  {
    name: "required-mcp-server-fails",
    label: { status: "failed", code: "config_invalid", why: "a required server does not start" },
    variables: { toml: wholeFile('[mcp_servers.gone]\ncommand = "/nonexistent"\nrequired = true') },
    replies: [DONE],
  },
  {
    name: "subagent-spawned",
    label: completed("the operator allows sub-agents; one is spawned", { tools: 1 }),
    variables: { toml: wholeFile("[agents]\nenabled = true") },
    replies: [answer(call("multi_agent_v1/spawn_agent", { message: "look around" })), DONE],
  },
  {
    name: "user-input-unavailable",
    label: completed("no one can be asked"),
    replies: [
      answer(
        call("request_user_input", {
          questions: [{ id: "q", header: "H", question: "Which?", options: [{ label: "a", description: "b" }] }],
        }),
      ),
      DONE,
    ],
  },
  {
    name: "escalation-rejected",
    label: completed("a command outside the sandbox is refused", { tools: 0 }),
    variables: { CLI_B_SANDBOX_MODE: "workspace-write" },
    replies: [
      answer(
        call("exec_command", {
          cmd: "touch /etc/x",
          sandbox_permissions: "require_escalated",
          justification: "I want to",
        }),
      ),
      DONE,
    ],
  },
  {
    name: "auto-compaction",
    label: completed("the conversation is compacted between two answers", { tools: 2 }),
    variables: { toml: wholeFile("model_auto_compact_token_limit = 50\nmodel_context_window = 100000") },
    replies: [
      answer(shell("echo one")),
      answer(text("Summary so far.")),
      answer(shell("echo two")),
      answer(text("Summary again.")),
      DONE,
    ],
  },
  {
    name: "output-schema",
    label: completed("an answer by a schema", { text: '{"a":1}' }),
    outputSchema:
      '{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}',
    replies: [answer(text('{"a":1}'))],
  },
  {
    name: "output-schema-invalid",
    label: { status: "failed", code: "invalid_request", why: "the schema is no JSON" },
    outputSchema: "{not json",
    replies: [DONE],
  },
  {
    name: "unknown-configuration-key",
    label: completed("a key of the operator's that this version does not know is passed over"),
    variables: { toml: wholeFile('no_such_key = "x"') },
    replies: [DONE],
  },
];
