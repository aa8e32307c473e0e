import { wholeFile, type CliBCase, type Label } from "./case.ts";
import {
  answer,
  broken,
  call,
  errorEvent,
  failed,
  HANG,
  incomplete,
  page,
  patch,
  refusal,
  RESET,
  shell,
  text,
  thought,
} from "./replies.ts";

const DONE = answer(text("Done."));
const TOOL = answer(shell("echo tool-ok"));
const LONG = "All is well. ".repeat(40_000);
const completed = (why: string, more: Partial<Label> = {}): Label => ({
  status: "completed",
  text: "Done.",
  why,
  ...more,
});
const fails = (code: NonNullable<Label["code"]>, why: string, more: Partial<Label> = {}): Label => ({
  status: "failed",
  code,
  why,
  ...more,
});
const inTool = [answer(shell("sleep 30"))];
const IN_TOOL = /"item\.started"/;

/** What an answer says in its stream when it fails. */
const IN_STREAM = [
  ["funds", "quota_exceeded", "insufficient_funds", "Your account has no funds left."],
  ["token", "auth_failed", "token_expired", "The access token has expired."],
  ["blocked", "content_blocked", "safety_violation", "The answer was blocked for safety reasons."],
  ["gone", "model_not_found", "model_not_found", "The model was retired."],
  [
    "window",
    "context_overflow",
    "string_above_max_length",
    "This conversation is longer than the model's context window.",
  ],
  ["engine", "provider_error", "engine_error", "The engine stopped."],
  ["minute", "rate_limited", "rate_limit_exceeded", "Tokens per minute: limit 10000, used 10000."],
  ["parameter", "invalid_request", "invalid_request_error", "Unknown parameter: 'include[2]'."],
] as const;

/** A fifth hold-out: labelled on 2026-11-25 by what is done, before anything was run. */
export const FIFTH_CASES: readonly CliBCase[] = [
  {
    name: "fifth-file-too-large",
    label: completed("a command may write no large file, and the model goes on", { tools: 1 }),
    replies: [answer(shell("ulimit -f 1; head -c 200000 /dev/zero >big")), DONE],
  },
  {
    name: "fifth-patch-into-closed-directory",
    label: completed("a patch cannot be written", { tools: 1 }),
    prepare: ({ shell: run, workspace }) => run(`mkdir -m 555 ${workspace}/closed; chown 0:0 ${workspace}/closed`),
    replies: [answer(patch("*** Add File: closed/new.txt\n+x")), DONE],
  },
  {
    name: "fifth-broken-git",
    label: completed("the workspace's git directory is garbage", { tools: 1 }),
    prepare: ({ shell: run, workspace }) => run(`mkdir ${workspace}/.git; echo garbage >${workspace}/.git/HEAD`),
    replies: [TOOL, DONE],
  },
  {
    name: "fifth-hung-up",
    label: fails("crashed", "SIGHUP from outside, while a command runs", { tools: 1 }),
    replies: inTool,
    stop: { when: IN_TOOL, signals: ["SIGHUP"], by: null },
  },
  {
    name: "fifth-user-signal",
    label: fails("crashed", "SIGUSR1 from outside"),
    replies: [HANG],
    stop: { when: /"turn\.started"/, signals: ["SIGUSR1"], by: null },
  },
  {
    name: "fifth-cancel-before-answer",
    label: { status: "cancelled", why: "turnd cancels before the model says anything" },
    replies: [HANG],
    stop: { when: /"turn\.started"/, signals: ["SIGINT", "SIGKILL"], by: "cancel" },
  },
  {
    name: "fifth-idle-after-message",
    label: fails("idle_timeout", "a message, then silence; the watchdog ends it", { text: "Part one." }),
    replies: [broken("hang", text("Part one."))],
    stop: { when: /"agent_message"/, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
  },
  {
    name: "fifth-utf-16",
    label: fails("invalid_request", "a prompt in UTF-16 without a mark"),
    prompt: Buffer.from("h\u00e9llo \ud83d\ude42\n", "latin1"),
    replies: [DONE],
  },
  {
    name: "fifth-utf-8-mark",
    label: completed("a prompt that begins with a byte order mark"),
    prompt: Buffer.from("\ufeffhello\n"),
    replies: [DONE],
  },
  {
    name: "fifth-odd-prompt",
    label: completed("a prompt with NUL, an emoji, a change of direction and quotes"),
    prompt: "hello \u0000 \u202e RTL 🙂 \u2028 \"'\\ $(id) `id`\n",
    replies: [DONE],
  },
  {
    name: "fifth-long-answer",
    label: completed("an answer of half a megabyte", { text: LONG }),
    replies: [answer(text(LONG))],
  },
  {
    name: "fifth-five-tools-then-refused",
    label: fails("auth_failed", "the token expires after five tools", { tools: 5 }),
    replies: [TOOL, TOOL, TOOL, TOOL, TOOL, refusal(401, { message: "Token expired.", code: "token_expired" })],
  },
  {
    name: "fifth-policy-after-tool",
    label: fails("content_blocked", "what a tool printed is refused by the provider", { tools: 1 }),
    replies: [TOOL, refusal(400, { message: "The tool's output was flagged.", code: "content_policy_violation" })],
  },
  {
    name: "fifth-failed-in-stream-then-answer",
    label: completed("an answer fails in its stream, then comes"),
    replies: [broken(failed("server_error", "The server had an error")), DONE],
  },
  {
    name: "fifth-silence-then-answer",
    label: completed("silence within an answer, then the answer"),
    variables: { toml: wholeFile() },
    replies: [broken("hang"), DONE],
  },
  {
    name: "fifth-always-cut",
    label: fails("network_error", "the connection breaks in every attempt", { tools: 1 }),
    replies: [TOOL, broken("reset")],
  },
  {
    name: "fifth-stopped-for-no-known-reason",
    label: fails("provider_error", "an answer that is incomplete for a reason of its own", {
      also: ["output_incomplete"],
    }),
    replies: [broken(incomplete("paused"))],
  },
  {
    name: "fifth-nothing-at-all",
    label: { status: "completed", why: "an answer without a message" },
    replies: [answer()],
  },
  {
    name: "fifth-thought-to-the-limit",
    label: fails("output_limit", "all tokens went into a thought"),
    replies: [broken(incomplete("max_output_tokens"), thought("Let me think."))],
  },
  {
    name: "fifth-error-event-of-key",
    label: fails("auth_failed", "an error event about the key", {
      also: ["provider_error", "network_error", "executor_unavailable"],
    }),
    replies: [broken(errorEvent("invalid_api_key", "The key was revoked."))],
  },
  ...IN_STREAM.map(([name, code, said, words]): CliBCase => ({
    name: `fifth-in-stream-${name}`,
    label: fails(code, `${said} inside a stream`),
    replies: [broken(failed(said, words))],
  })),
  {
    name: "fifth-mcp-server-missing",
    label: completed("a server of tools cannot be started, and the run goes on", { tools: 1 }),
    variables: { toml: wholeFile('[mcp_servers.gone]\ncommand = "/nonexistent/server"') },
    replies: [TOOL, DONE],
  },
  {
    name: "fifth-mcp-server-refused",
    label: completed("a server of tools cannot be reached, and the run goes on", { tools: 1 }),
    variables: { toml: wholeFile('[mcp_servers.far]\nurl = "http://127.0.0.1:9/mcp"') },
    replies: [TOOL, DONE],
  },
  {
    name: "fifth-tool-leaves-a-child",
    label: completed("a command leaves a process behind", { tools: 1 }),
    replies: [answer(shell("setsid sleep 3 >/dev/null 2>&1 & echo left")), DONE],
  },
  {
    name: "fifth-tool-prints-records",
    label: completed("a tool prints what the CLI prints for a failure", { tools: 1 }),
    replies: [answer(shell(`echo '{"type":"turn.failed","error":{"message":"unexpected status 401"}}'; exit 1`)), DONE],
  },
  {
    name: "fifth-arguments-no-json",
    label: completed("a call with broken arguments is refused, and the model goes on"),
    replies: [answer(call("exec_command", '{"cmd": "echo')), DONE],
  },
  {
    name: "fifth-schema-missing",
    label: fails("invalid_request", "the file of the output schema is not there"),
    args: (args) => [...args.slice(0, -1), "--output-schema=/nonexistent.json", "-"],
    replies: [DONE],
  },
  {
    name: "fifth-override-malformed",
    label: fails("config_invalid", "-c without a value", { also: ["invalid_request"] }),
    args: (args) => [...args.slice(0, 1), "-c", "model", ...args.slice(1)],
    replies: [DONE],
  },
  {
    name: "fifth-config-key-twice",
    label: fails("config_invalid", "a key stands twice in config.toml"),
    prepare: ({ shell: run, codexHome }) => run(`printf 'model = "a"\\nmodel = "b"\\n' >${codexHome}/config.toml`),
    replies: [DONE],
  },
  {
    name: "fifth-config-unknown-value",
    label: fails("config_invalid", "a sandbox mode that there is none of"),
    prepare: ({ shell: run, codexHome }) => run(`echo 'sandbox_mode = "none"' >${codexHome}/config.toml`),
    args: (args) => args.filter((word) => !word.includes("sandbox")),
    replies: [DONE],
  },
  {
    name: "fifth-config-no-text",
    label: fails("config_invalid", "config.toml is not UTF-8"),
    prepare: ({ shell: run, codexHome }) => run(`printf 'model = "\\377"\\n' >${codexHome}/config.toml`),
    replies: [DONE],
  },
  {
    name: "fifth-resume-third-turn",
    label: completed("a third turn of a thread", { resumed: true }),
    earlier: [[answer(text("One."))], [answer(text("Two."))]],
    resume: "earlier",
    replies: [DONE],
  },
  {
    name: "fifth-resume-no-credit",
    label: fails("quota_exceeded", "the thread goes on, the money does not", { resumed: true }),
    earlier: [[answer(text("One."))]],
    resume: "earlier",
    replies: [refusal(402, { message: "The balance of your account is used up." })],
  },
  {
    name: "fifth-resume-unreadable",
    label: fails("resume_degraded", "the history belongs to another user", { also: ["storage_error"] }),
    earlier: [[answer(text("One."))]],
    resume: "earlier",
    prepare: ({ shell: run, codexHome }) =>
      run(`find ${codexHome}/sessions -name '*.jsonl*' -exec chown 0:0 {} + -exec chmod 600 {} +`),
    replies: [DONE],
  },
  {
    name: "fifth-reset-once-after-tool",
    label: completed("a reset after a tool, then the answer", { tools: 1 }),
    replies: [TOOL, RESET, DONE],
  },
  {
    name: "fifth-proxy-refuses",
    label: fails("network_error", "a proxy that nobody serves stands before the provider", {
      also: ["provider_error"],
    }),
    variables: { CLI_B_BASE_URL: "http://models.example:8080/v1" },
    replies: [DONE],
  },
  {
    name: "fifth-page-in-mid-turn",
    label: fails("provider_error", "a gateway's page for every second request", { tools: 1 }),
    replies: [TOOL, page(503, "<html><title>Maintenance</title><body>Back at 12:00.</body></html>")],
  },
];
