import { say } from "../../../src/scripted-model/reply.ts";
import { currentTurn } from "../../../src/scripted-model/conversation.ts";
import { bash, call, completed, failed, refusal, steps, thenAnswer, type Scene } from "../scene.ts";

const WORDS_OF_ERRORS =
  'Error: 401 Incorrect API key provided. {"type":"error","error":{"name":"APIError"}} Rate limit reached. ENOSPC: no space left on device.';
const PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>";
const OVERFLOW = { code: "context_length_exceeded", message: "Your input exceeds the context window of this model." };
const AFTER_TWO_FAILURES = {
  shows: /message="stream error"|isRetryable":true/g,
  times: 2,
  signal: "SIGKILL",
  endedBy: "idle_timeout",
} as const;
const inTool = steps([[bash("touch started; sleep 30")]]);

/** A tool first, then what is given. */
const afterTool =
  (then: NonNullable<Scene["script"]>): NonNullable<Scene["script"]> =>
  (conversation, cue) =>
    currentTurn(conversation).outcomes.length === 0
      ? { type: "answer", parts: [bash("echo tool-ok")], ending: "stop" }
      : then(conversation, cue);

/** Other orders of things: labelled on 2026-11-23, before any rule was tried on them. */
export const UNSEEN_SCENES: readonly Scene[] = [
  {
    name: "unseen-error-after-tool-recovered",
    script: afterTool(thenAnswer(refusal(502, PAGE), 1)),
    label: completed("a gateway's page once, after a tool, then the answer", "Done.", 1),
  },
  {
    name: "unseen-rate-limited-after-tool-recovered",
    script: afterTool(thenAnswer(refusal(429, { message: "API rate limit exceeded" }, { "retry-after": "1" }), 1)),
    label: completed("429 once, after a tool, then the answer", "Done.", 1),
  },
  {
    name: "unseen-stream-cut-after-tool-recovered",
    script: afterTool(thenAnswer(() => say("This breaks off", "cut"), 1)),
    label: completed("a cut after a tool, then the answer", "Done.", 1),
  },
  {
    name: "unseen-text-beside-tool",
    script: (conversation) =>
      currentTurn(conversation).outcomes.length === 0
        ? { type: "answer", parts: [{ type: "text", text: "I look." }, bash("echo here")], ending: "stop" }
        : say("Done."),
    label: completed("a text and a tool in one answer", "Done.", 1),
  },
  {
    name: "unseen-answer-of-errors",
    script: () => say(WORDS_OF_ERRORS),
    label: completed("the answer speaks of errors", WORDS_OF_ERRORS),
  },
  {
    name: "unseen-tool-prints-errors",
    script: steps([
      [bash(`cat <<'END'\n${WORDS_OF_ERRORS}\nEND\necho 'database disk image is malformed' >&2; exit 1`)],
    ]),
    label: completed("a tool prints errors of others", "Done.", 1),
  },
  {
    name: "unseen-tool-kills-itself",
    script: steps([[bash("kill -9 $$")]]),
    label: completed("a command ends by SIGKILL", "Done.", 1),
  },
  {
    name: "unseen-tool-prints-much",
    script: steps([[bash("seq 1 400000")]]),
    label: completed("a command prints two megabytes", "Done.", 1),
  },
  {
    name: "unseen-many-tools",
    script: steps(Array.from({ length: 12 }, (_, at) => [bash(`echo ${at}`)])),
    label: completed("twelve commands, one after the other", "Done.", 12),
  },
  {
    name: "unseen-long-prompt",
    prompt: "word ".repeat(60_000),
    script: () => say("Done."),
    label: completed("a prompt of 300 kB"),
  },
  {
    name: "unseen-disk-of-workspace-full",
    script: steps([[bash("dd if=/dev/zero of=/dev/full bs=1k count=1; echo done")]]),
    label: completed("a command meets a full disk", "Done.", 1),
  },
  {
    name: "unseen-length-after-tool",
    script: afterTool(() => say("Half an", "length")),
    label: failed("output_limit", "cut at the limit, after a tool", { finalText: "Half an", toolCalls: 1 }),
  },
  {
    name: "unseen-filter-after-tool",
    script: afterTool(() => say("Half an", "content-filter")),
    label: failed("content_blocked", "filtered, after a tool", { finalText: "Half an", toolCalls: 1 }),
  },
  {
    name: "unseen-no-credit-after-tool",
    script: afterTool(refusal(402, { message: "Insufficient credits. Add more in the settings.", code: 402 })),
    label: failed("quota_exceeded", "402 after a tool", { toolCalls: 1 }),
  },
  {
    name: "unseen-model-gone-after-tool",
    script: afterTool(refusal(404, { message: "The model `m` does not exist.", code: "model_not_found" })),
    label: failed("model_not_found", "404 after a tool", { toolCalls: 1 }),
  },
  ...(
    [
      ["chat-unseen-credits", "quota_exceeded"],
      ["chat-unseen-flagged", "content_blocked"],
      ["chat-unseen-key", "auth_failed"],
      ["chat-unseen-busy", "provider_error"],
      ["messages-unseen-permission", "auth_failed"],
      ["messages-unseen-model", "model_not_found"],
      ["messages-unseen-slow", "provider_timeout"],
      ["messages-unseen-order", "invalid_request"],
    ] as const
  ).map(([provider, code]): Scene => ({
    name: `unseen-in-stream-${provider.replace(/^.*unseen-/, "")}`,
    provider,
    api: provider.startsWith("messages") ? "messages" : "chat",
    stop: AFTER_TWO_FAILURES,
    label: failed(code, `${code} inside a stream`),
  })),
  {
    name: "unseen-resume-bad-key",
    continues: "answered",
    script: refusal(401, { message: "Incorrect API key provided: sk-bad.", code: "invalid_api_key" }),
    label: failed("auth_failed", "the session goes on, the key is refused", { resumed: true }),
  },
  {
    name: "unseen-resume-overflow",
    continues: "answered",
    script: refusal(400, OVERFLOW),
    label: failed("context_overflow", "the session goes on, every request is too long", { resumed: true }),
  },
  {
    name: "unseen-edit-asked",
    config: (config) => void (config.permission = { "*": "allow", edit: "ask" }),
    script: steps([[call("write", { filePath: "new.txt", content: "x" })]]),
    label: failed("permission_denied", "the question about an edit is rejected", { toolCalls: 1 }),
  },
  {
    name: "unseen-fetch-asked",
    config: (config) => void (config.permission = { "*": "allow", webfetch: "ask" }),
    script: steps([[call("webfetch", { url: "http://127.0.0.1:9/", format: "text" })]]),
    label: failed("permission_denied", "the question about a fetch is rejected", { toolCalls: 1 }),
  },
  {
    name: "unseen-terminated-from-outside",
    script: inTool,
    stop: { file: "started", signal: "SIGTERM", endedBy: null },
    label: failed("crashed", "SIGTERM by somebody else, while a command runs"),
  },
  {
    name: "unseen-killed-by-cancel",
    script: inTool,
    stop: { file: "started", signal: "SIGKILL", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGKILL for a cancel" },
  },
  {
    name: "unseen-idle-in-tool",
    script: inTool,
    stop: { file: "started", signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "a command that prints nothing for too long"),
  },
  {
    name: "unseen-config-model-number",
    config: (config) => void (config["model"] = 5),
    label: failed("config_invalid", "the model is a number"),
  },
  {
    name: "unseen-config-provider-list",
    config: (config) => void Object.assign(config, { provider: [] }),
    label: failed("config_invalid", "providers are a list", { also: ["model_not_found"] }),
  },
  {
    name: "unseen-nothing-said",
    script: () => say(""),
    label: { status: "completed", why: "the model ends with no text at all" },
  },
];
