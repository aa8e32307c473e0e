import { wholeFile, type CliBCase } from "./case.ts";
import { answer, broken, HANG, page, refusal, RESET, shell, text } from "./replies.ts";
import { early, END, fine, IN_COMMAND, json, newRepository, refuses, SAID } from "./unseen-tenth-parts.ts";

const BEFORE = [answer(text("Noted."))] as const;
const SLEEPS = [answer(shell("echo busy; sleep 50"))] as const;
const ROLLOUT = "find sessions -name 'rollout-*.jsonl'";
const earlier = { earlier: [BEFORE], resume: "earlier", replies: [END] } as const;
const lost = (why: string, more: Partial<CliBCase["label"]> = {}): CliBCase["label"] => ({
  status: "failed",
  code: "resume_degraded",
  why,
  ...more,
});

/** Sessions that go on, sessions that do not, and ends that somebody made. */
export const TENTH_SESSIONS: readonly CliBCase[] = [
  {
    ...earlier,
    name: "tenth-resume-after-command",
    label: fine("a thread whose last turn ran a command goes on"),
    earlier: [[answer(shell("echo before")), ...BEFORE]],
  },
  {
    ...earlier,
    name: "tenth-resume-elsewhere",
    label: fine("a thread goes on from another directory"),
    prepare: ({ shell: run, home }) => run(`mkdir ${home}/elsewhere; chown 1000 ${home}/elsewhere`),
    args: (args, { home }) => args.map((word, index) => (args[index - 1] === "-C" ? `${home}/elsewhere` : word)),
  },
  {
    ...earlier,
    name: "tenth-resume-histories-alone",
    label: fine("of all that the CLI kept, the histories and the configuration alone are there"),
    prepare: ({ shell: run, codexHome }) =>
      run(`cd ${codexHome} && find . -mindepth 1 -maxdepth 1 ! -name sessions ! -name config.toml -exec rm -rf {} +`),
  },
  {
    ...earlier,
    name: "tenth-resume-with-model",
    label: fine("a thread goes on with another model"),
    args: early("-m", "qwen3-coder-480b"),
  },
  {
    ...earlier,
    name: "tenth-resume-dashes",
    label: fine("two dashes stand before the id, and a prompt that begins with a dash behind it"),
    args: (args) => [...args.slice(0, -2), "--", ...args.slice(-2, -1), "-v means what?"],
  },
  {
    ...earlier,
    name: "tenth-resume-tail-cut",
    label: fine("the history's last line is cut in its middle"),
    prepare: ({ shell: run, codexHome }) =>
      run(`cd ${codexHome} && ${ROLLOUT} | while read -r file; do truncate -s -60 "$file"; done`),
  },
  {
    ...earlier,
    name: "tenth-resume-after-interrupt",
    label: fine("the turn before was interrupted in a command"),
    earlier: [SLEEPS],
    earlierStop: { when: IN_COMMAND, signals: ["SIGINT"], by: "cancel" },
  },
  {
    ...earlier,
    name: "tenth-resume-after-hang-up",
    label: fine("the turn before was ended by a SIGHUP"),
    earlier: [SLEEPS],
    earlierStop: { when: IN_COMMAND, signals: ["SIGHUP"], by: null },
  },
  {
    ...earlier,
    name: "tenth-resume-in-sandbox",
    label: fine("another sandbox stands before the word resume"),
    variables: { CLI_B_SANDBOX_MODE: "workspace-write" },
  },
  {
    ...earlier,
    name: "tenth-resume-after-refusal",
    label: fine("the turn before was refused for a parameter"),
    earlier: [[refusal(400, { message: "Invalid value: 'auto'.", code: "invalid_value" })]],
  },
  {
    ...earlier,
    name: "tenth-resume-after-two",
    label: fine("the third turn of a thread, which runs a command", { tools: 1 }),
    earlier: [BEFORE, BEFORE],
    replies: [answer(shell("echo third")), END],
  },
  {
    name: "tenth-resume-other-home",
    label: lost("a thread of another home"),
    resume: "01a1fd22-0c1b-7a41-8e55-3f0f6f2f9b10",
    replies: [END],
  },
  {
    name: "tenth-resume-name",
    label: lost("a word in place of an id", { text: SAID }),
    resume: "latest",
    replies: [END],
  },
  {
    ...earlier,
    name: "tenth-resume-headless",
    label: lost("the history has lost its first line"),
    prepare: ({ shell: run, codexHome }) =>
      run(`cd ${codexHome} && ${ROLLOUT} | while read -r file; do sed -i 1d "$file"; done`),
  },
  {
    ...earlier,
    name: "tenth-resume-sessions-removed",
    label: lost("the folder of all histories was removed"),
    prepare: ({ shell: run, codexHome }) => run(`rm -rf ${codexHome}/sessions`),
  },
  {
    name: "tenth-cancel-in-command",
    label: { status: "cancelled", tools: 1, text: "I start.", why: "SIGINT by turnd while a command runs" },
    replies: [answer(text("I start."), shell("while :; do sleep 1; done"))],
    stop: { when: IN_COMMAND, signals: ["SIGINT"], by: "cancel" },
  },
  {
    name: "tenth-terminate-in-command",
    label: { status: "cancelled", tools: 1, why: "SIGTERM by turnd while a command runs" },
    replies: SLEEPS,
    stop: { when: IN_COMMAND, signals: ["SIGTERM"], by: "cancel" },
  },
  {
    name: "tenth-kill-in-second-command",
    label: { status: "cancelled", tools: 2, why: "SIGKILL by turnd while a second command runs" },
    replies: [answer(shell("echo one")), ...SLEEPS],
    stop: { when: /item\.completed[^\n]*command_execution[^]*item\.started/, signals: ["SIGKILL"], by: "cancel" },
  },
  {
    name: "tenth-cancel-in-stream",
    label: { status: "cancelled", text: "So far so good.", why: "SIGINT by turnd in an answer" },
    replies: [broken("hang", text("So far so good."))],
    stop: { when: /So far/, signals: ["SIGINT"], by: "cancel" },
  },
  {
    name: "tenth-cancel-with-grandchildren",
    label: { status: "cancelled", tools: 1, why: "SIGINT by turnd; a command has children in sessions of their own" },
    replies: [answer(shell("setsid sh -c 'sleep 12' & sh -c 'sleep 40; :' & wait"))],
    stop: { when: IN_COMMAND, signals: ["SIGINT"], by: "cancel" },
  },
  {
    name: "tenth-cancel-at-once",
    label: { status: "cancelled", why: "SIGINT as soon as the CLI is started" },
    replies: [HANG],
    // Sooner than the recorder looks.
    within: ["sh", "-c", '(sleep 0.04; kill -INT $$) & exec "$@"', "sh"],
    stop: { when: /^/, signals: [], by: "cancel" },
  },
  {
    name: "tenth-killed-by-others",
    label: { status: "failed", code: "crashed", tools: 1, why: "SIGKILL by somebody else; a command has children" },
    replies: [answer(shell("setsid sleep 9 & sleep 40"))],
    stop: { when: IN_COMMAND, signals: ["SIGKILL"], by: null },
  },
  {
    name: "tenth-silent-provider",
    label: { status: "failed", code: "idle_timeout", tools: 1, why: "the second request is never answered" },
    replies: [answer(shell("echo first")), HANG],
    stop: { when: /item\.completed[^\n]*command_execution/, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
  },
  {
    name: "tenth-cut-twice-then-answered",
    label: fine("a stream is closed, then one is reset, then there is an answer"),
    replies: [broken("close"), broken("reset"), END],
  },
  {
    name: "tenth-three-faults-then-answered",
    label: fine("a reset, a 502 with a page and a 500, an answer behind each", { tools: 2 }),
    replies: [
      RESET,
      answer(shell("echo a")),
      page(502, "<html><head><title>502 Bad Gateway</title></head><body>nginx/1.25.3</body></html>"),
      answer(shell("echo b")),
      json(500, { type: "error", error: { type: "api_error", message: "Internal server error" } }),
      END,
    ],
  },
  {
    name: "tenth-compaction-in-between",
    label: fine("the conversation is made shorter behind a long command", { tools: 1 }),
    variables: { toml: wholeFile("model_auto_compact_token_limit = 60\nmodel_context_window = 90000") },
    replies: [answer(shell("seq 1 50")), answer(text("What was: numbers.")), END],
  },
  {
    name: "tenth-sockets-then-requests",
    label: fine("the built-in provider at another address: sockets fail, requests do not"),
    variables: {
      toml: 'model = "m1"\nmodel_provider = "openai"\nopenai_base_url = "{url}"\nsandbox_mode = "read-only"\n',
    },
    env: { CODEX_API_KEY: "FAKE-KEY-T" },
    replies: [END],
  },
  refuses(
    "review-refused",
    "invalid_request",
    "a review whose request is refused",
    refusal(400, { message: "Unknown parameter: 'reasoning.summary'.", code: "unknown_parameter" }),
    {
      label: { text: "Review was interrupted. Please re-run /review and wait for it to complete." },
      mode: "review",
      prepare: newRepository,
    },
  ),
  refuses(
    "waits-for-silence",
    "provider_timeout",
    "headers and a message, then silence",
    broken("hang", text("One moment.")),
    {
      label: { text: "One moment." },
      variables: { toml: wholeFile().replace("stream_max_retries = 1", "stream_max_retries = 0") },
    },
  ),
  refuses("default-provider", "network_error", "the default provider cannot be reached; turnd ends the turn", HANG, {
    label: { also: ["idle_timeout"] },
    variables: { toml: 'model = "gpt-5.5"\n' },
    env: { CODEX_API_KEY: "FAKE-KEY-T" },
    stop: { when: /(?:Reconnecting[^]*){3}/, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
  }),
];
