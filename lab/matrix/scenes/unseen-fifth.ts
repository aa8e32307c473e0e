import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { currentTurn } from "../../../src/scripted-model/conversation.ts";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, completed, failed, marker, refusal, steps, thenAnswer, type Scene } from "../scene.ts";

const write = (filePath: string, content = "x"): ReturnType<typeof call> => call("write", { filePath, content });
const inTool = steps([[bash("touch started; sleep 30")]]);
const afterTools =
  (count: number, then: NonNullable<Scene["script"]>): NonNullable<Scene["script"]> =>
  (conversation, cue) =>
    currentTurn(conversation).outcomes.length < count
      ? { type: "answer", parts: [bash(`echo tool-${currentTurn(conversation).outcomes.length}`)], ending: "stop" }
      : then(conversation, cue);
const afterTool = (then: NonNullable<Scene["script"]>): NonNullable<Scene["script"]> => afterTools(1, then);
const asWhole = (command: string): string => execFileSync("/bin/sh", ["-c", command], { encoding: "utf8" });
const LONG = "All is well. ".repeat(40_000);

/** A fifth hold-out: labelled on 2026-11-25 by what is done, before anything was run. */
export const FIFTH_SCENES: readonly Scene[] = [
  {
    name: "fifth-workspace-full",
    prepare: ({ workspace }) => void asWhole(`mount -t tmpfs -o size=64k,mode=777 tmpfs ${workspace}`),
    cleanUp: ({ workspace }) => void asWhole(`umount ${workspace}`),
    script: steps([[write("big.txt", "x".repeat(200_000))]]),
    label: completed("a file does not fit into the workspace: the tool fails, the model goes on", "Done.", 1),
  },
  {
    name: "fifth-workspace-read-only",
    prepare: ({ workspace }) => chmodSync(workspace, 0o555),
    script: steps([[write("new.txt")]]),
    label: completed("nothing can be written into the workspace: the tool fails, the model goes on", "Done.", 1),
  },
  {
    name: "fifth-broken-git",
    prepare: ({ workspace }) => {
      mkdirSync(join(workspace, ".git"));
      writeFileSync(join(workspace, ".git/HEAD"), "garbage\n");
    },
    script: steps([[bash("echo here")]]),
    label: completed("the workspace's git directory is garbage", "Done.", 1),
  },
  {
    name: "fifth-hung-up",
    script: inTool,
    stop: { file: "started", signal: "SIGHUP", endedBy: null },
    label: failed("crashed", "SIGHUP from outside, while a command runs"),
  },
  {
    name: "fifth-quit",
    script: () => say("", "stall"),
    stop: { asked: 1, signal: "SIGQUIT", endedBy: null },
    label: failed("crashed", "SIGQUIT from outside, while the model is silent"),
  },
  {
    name: "fifth-cancel-before-answer",
    script: () => ({ type: "hang" }),
    stop: { asked: 1, signal: "SIGINT", endedBy: "cancel" },
    label: { status: "cancelled", why: "turnd cancels before the model says anything" },
  },
  {
    name: "fifth-cancel-while-retrying",
    script: refusal(503, { message: "Restarting." }),
    stop: { shows: /message="stream error"|isRetryable":true/g, times: 1, signal: "SIGTERM", endedBy: "cancel" },
    label: { status: "cancelled", why: "turnd cancels between two attempts" },
  },
  {
    name: "fifth-idle-while-rate-limited",
    script: refusal(429, { message: "Too many requests in this minute" }, { "retry-after": "900" }),
    stop: { shows: /message="stream error"|isRetryable":true/g, times: 1, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("rate_limited", "the provider asks to wait for 15 minutes; the watchdog ends it", {
      also: ["idle_timeout"],
    }),
  },
  {
    name: "fifth-idle-without-a-word",
    script: () => ({ type: "hang" }),
    stop: { asked: 1, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "the model never answers, the watchdog ends it"),
  },
  {
    name: "fifth-blank-prompt",
    prompt: " \n\t\n",
    label: failed("invalid_request", "a prompt of white space"),
  },
  {
    name: "fifth-odd-prompt",
    prompt: `${marker("fifth-odd-prompt")} \u0000 \u202e RTL 🙂 \u2028 "'\\ $(id) \`id\``,
    label: completed("a prompt with NUL, an emoji, a change of direction and quotes"),
  },
  {
    name: "fifth-long-answer",
    script: () => say(LONG),
    label: completed("an answer of half a megabyte", LONG),
  },
  {
    name: "fifth-thought-to-the-limit",
    script: () => ({ type: "answer", parts: [{ type: "reasoning", text: "Let me think." }], ending: "length" }),
    label: failed("output_limit", "all tokens went into a thought"),
  },
  {
    name: "fifth-five-tools-then-refused",
    script: afterTools(5, refusal(401, { message: "Token expired.", code: "token_expired" })),
    label: failed("auth_failed", "the token expires after five tools", { toolCalls: 5 }),
  },
  {
    name: "fifth-policy-after-tool",
    script: afterTool(refusal(400, { message: "The tool's output was flagged.", code: "content_policy_violation" })),
    label: failed("content_blocked", "what a tool printed is refused by the provider", { toolCalls: 1 }),
  },
  {
    name: "fifth-three-faults-then-answer",
    script: afterTool(thenAnswer(refusal(529, { message: "Overloaded", type: "overloaded_error" }), 2)),
    label: completed("twice overloaded after a tool, then the answer", "Done.", 1),
  },
  {
    name: "fifth-error-in-stream-then-answer",
    script: thenAnswer(() => say("Hal", { code: "server_error", message: "The server had an error" }), 1),
    label: completed("an error inside the stream, then the answer"),
  },
  {
    name: "fifth-subagent-refused",
    script: steps([
      [call("task", { description: "Look", prompt: marker("fifth-subagent-refused-child"), subagent_type: "general" })],
    ]),
    child: refusal(403, { message: "This key may not use this model." }),
    label: completed("a subagent's key is refused, and the parent goes on", "Done.", 1),
  },
  {
    name: "fifth-mcp-server-missing",
    config: (config) =>
      void Object.assign(config, { mcp: { gone: { type: "local", command: ["/nonexistent/server"] } } }),
    script: steps([[bash("echo on")]]),
    label: completed("a server of tools cannot be started, and the run goes on", "Done.", 1),
  },
  {
    name: "fifth-mcp-server-refused",
    config: (config) =>
      void Object.assign(config, { mcp: { far: { type: "remote", url: "http://127.0.0.1:9/mcp", enabled: true } } }),
    script: steps([[bash("echo on")]]),
    label: completed("a server of tools cannot be reached, and the run goes on", "Done.", 1),
  },
  {
    name: "fifth-all-tools-fail",
    script: steps([
      [
        call("read", { filePath: "/workspace/none.txt" }),
        bash("exit 7"),
        call("grep", { pattern: "(", path: "/none" }),
      ],
    ]),
    label: completed("three tools fail, and the model goes on", "Done.", 3),
  },
  {
    name: "fifth-nested-error-text",
    script: steps([
      [bash('printf \'%s\' \'{"type":"error","error":{"name":"APIError","data":{"statusCode":401}}}\'; exit 1')],
    ]),
    label: completed("a tool prints what the CLI prints for a failure", "Done.", 1),
  },
  {
    name: "fifth-edit-denied",
    config: (config) => void (config.permission = { "*": "allow", edit: "deny" }),
    script: steps([[write("new.txt")], [bash("echo other way")]]),
    label: completed("editing is denied by a rule, and the model goes on", "Done.", 2),
  },
  {
    name: "fifth-bash-asked-late",
    config: (config) => void (config.permission = { "*": "allow", webfetch: "ask" }),
    script: steps([[bash("echo one")], [call("webfetch", { url: "http://127.0.0.1:9/", format: "text" })]]),
    label: failed("permission_denied", "a question after a tool that was allowed", { toolCalls: 2 }),
  },
  {
    name: "fifth-resume-then-no-credit",
    continues: "answered",
    script: refusal(402, { message: "The balance of your account is used up." }),
    label: failed("quota_exceeded", "the session goes on, the money does not", { resumed: true }),
  },
  {
    name: "fifth-resume-of-nobody",
    session: "ses_00000000000000000000000000",
    label: failed("resume_degraded", "an id that nobody gave"),
  },
  {
    name: "fifth-config-empty",
    prepare: ({ configFile }) => writeFileSync(configFile, ""),
    // Labelled config_invalid, wrongly: the CLI takes it for no configuration, and asks its hosted provider.
    label: failed("network_error", "the configuration is an empty file: the hosted provider is asked, out of reach"),
  },
  {
    name: "fifth-cache-read-only",
    prepare: ({ home }) => {
      rmSync(join(home, "cache"), { recursive: true, force: true });
      mkdirSync(join(home, "cache"));
      writeFileSync(join(home, "cache/opencode"), "in the way");
      chmodSync(join(home, "cache"), 0o555);
    },
    label: failed("storage_error", "a file stands where the cache is to be"),
  },
];
