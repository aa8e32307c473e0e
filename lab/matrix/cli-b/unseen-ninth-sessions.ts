import type { CliBCase, Place } from "./case.ts";
import { answer, broken, HANG, refusal, shell, text } from "./replies.ts";
import { body, DONE, endWith, fails, FIRST, insert, works } from "./unseen-ninth-parts.ts";

const RESUMED = { earlier: [FIRST], resume: "earlier" } as const;
const IN_TOOL = /"item\.started"/;
const WORK = [answer(text("I start."), shell("sleep 45; echo never"))] as const;
const lost = (name: string, why: string, more: Partial<CliBCase>, textOf?: string): CliBCase => ({
  replies: [DONE],
  ...more,
  name,
  label: {
    status: "failed",
    code: "resume_degraded",
    why,
    resumed: false,
    ...(textOf === undefined ? {} : { text: textOf }),
  },
});
const cancelled = (
  name: string,
  why: string,
  more: Partial<CliBCase>,
  label: Partial<CliBCase["label"]> = {},
): CliBCase => ({
  replies: WORK,
  ...more,
  name,
  label: { status: "cancelled", why, ...label },
});
const onRollouts =
  (command: string) =>
  ({ shell: run, codexHome }: Place): void =>
    run(`cd ${codexHome} && find . -name 'rollout-*' | while read -r file; do ${command}; done`);
const keepOnly =
  (...names: readonly string[]) =>
  ({ shell: run, codexHome }: Place): void =>
    run(
      `cd ${codexHome} && find . -mindepth 1 -maxdepth 1 ${names.map((name) => `! -name ${name}`).join(" ")} -exec rm -rf {} +`,
    );
const repository = ({ shell: run, workspace }: Place): void =>
  run(`cd ${workspace} && git init -q . && printf 'int main(){return 1;}\\n' >main.c && chown -R 1000:1000 .`);

/** Resumes, reviews, cancels and signals, as in the shared recordings. */
export const NINTH_SESSION_CASES: readonly CliBCase[] = [
  works("ninth-resume", "resume by id", [answer(shell("echo again")), DONE], { ...RESUMED, label: { tools: 1 } }),
  works("ninth-resume-elsewhere", "resume from another directory", [DONE], {
    ...RESUMED,
    prepare: ({ shell: run, workspace }) => run(`mkdir -p ${workspace}/sub && chown 1000:1000 ${workspace}/sub`),
    args: (args) => args.map((word, index) => (args[index - 1] === "-C" ? `${word}/sub` : word)),
  }),
  works("ninth-resume-home-rebuilt", "resume in a home of which only the sessions were kept", [DONE], {
    ...RESUMED,
    prepare: keepOnly("sessions", "config.toml"),
  }),
  works("ninth-resume-other-model", "resume with another model", [DONE], {
    ...RESUMED,
    args: insert("-m", "gpt-oss:20b"),
  }),
  works("ninth-resume-dashes", "resume with --", [DONE], {
    ...RESUMED,
    args: (args) =>
      args.flatMap((word) => (word === "resume" ? ["resume", "--"] : word === "-" ? ["-n is a flag?"] : [word])),
  }),
  works("ninth-resume-tail-lost", "the session's log lost its last bytes", [DONE], {
    ...RESUMED,
    prepare: onRollouts('truncate -s -60 "$file"'),
  }),
  works("ninth-resume-read-only", "resume with a sandbox option before the word", [DONE], {
    ...RESUMED,
    variables: { CLI_B_SANDBOX_MODE: "read-only" },
  }),
  works("ninth-resume-after-interrupt", "resume after an interrupted turn", [DONE], {
    earlier: [WORK],
    earlierStop: { when: IN_TOOL, signals: ["SIGINT"], by: "cancel" },
    resume: "earlier",
  }),
  works("ninth-resume-after-term", "resume after a terminated turn", [answer(text("Going on.")), DONE], {
    earlier: [WORK],
    earlierStop: { when: IN_TOOL, signals: ["SIGTERM"], by: "cancel" },
    resume: "earlier",
    label: { text: "Going on." },
  }),
  works("ninth-resume-after-refusal", "resume after a failed turn", [DONE], {
    earlier: [
      [
        body(402, {
          error: { message: "Insufficient Balance", type: "unknown_error", param: null, code: "invalid_request_error" },
        }),
      ],
    ],
    resume: "earlier",
  }),
  lost("ninth-resume-other-home", "resume in another home", {
    ...RESUMED,
    prepare: keepOnly("config.toml"),
  }),
  lost(
    "ninth-resume-malformed",
    "a malformed id: a new thread",
    { resume: "thread_42", replies: [answer(text("New."))] },
    "New.",
  ),
  lost("ninth-resume-no-beginning", "the session's log lost its first line", {
    ...RESUMED,
    prepare: onRollouts('sed -i 1d "$file"'),
  }),
  lost("ninth-resume-log-moved", "the session's log was moved away", {
    ...RESUMED,
    prepare: ({ shell: run, codexHome }) => run(`mv ${codexHome}/sessions ${codexHome}/old-sessions`),
  }),
  fails("ninth-resume-option-behind", "invalid_request", "an option that is not taken after resume", DONE, {
    ...RESUMED,
    args: (args) => args.flatMap((word) => (word === "resume" ? ["resume", "-s", "read-only"] : [word])),
    label: { resumed: false },
  }),
  fails("ninth-resume-blank", "invalid_request", "a resume with a blank prompt", DONE, {
    ...RESUMED,
    prompt: "  \n",
    label: { resumed: false },
  }),
  works(
    "ninth-review",
    "a review of what is not committed",
    [
      answer(shell("git diff --stat")),
      answer(
        text(
          '{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"Small and right.","overall_confidence_score":0.8}',
        ),
      ),
    ],
    {
      mode: "review",
      prepare: repository,
      args: endWith("--uncommitted"),
      label: { text: "Small and right.", tools: 1 },
    },
  ),
  fails(
    "ninth-review-refused",
    "invalid_request",
    "a review, the provider answers 400",
    refusal(400, {
      message: "Invalid 'tools': array too long. Expected an array with maximum length 0.",
      code: "array_above_max_length",
    }),
    {
      mode: "review",
      prepare: repository,
      args: endWith("--uncommitted"),
      label: { text: "Review was interrupted. Please re-run /review and wait for it to complete." },
    },
  ),
  fails("ninth-review-for-prompt", "invalid_request", "a prompt that is a subcommand", DONE, {
    args: endWith(),
    mode: "review",
    prepare: repository,
    prompt: "",
  }),
  cancelled(
    "ninth-cancel-int-in-tool",
    "SIGINT during a tool",
    {
      stop: { when: IN_TOOL, signals: ["SIGINT"], by: "cancel" },
    },
    { text: "I start.", tools: 1 },
  ),
  cancelled(
    "ninth-cancel-term-in-tool",
    "SIGTERM during the second tool",
    {
      replies: [answer(shell("echo one")), ...WORK],
      stop: { when: /I start[^]*"item\.started"/, signals: ["SIGTERM"], by: "cancel" },
    },
    { text: "I start.", tools: 2 },
  ),
  cancelled(
    "ninth-cancel-kill-in-tool",
    "SIGKILL during a tool of a resumed thread",
    {
      ...RESUMED,
      stop: { when: IN_TOOL, signals: ["SIGKILL"], by: "cancel" },
    },
    { text: "I start.", tools: 1, resumed: true },
  ),
  cancelled(
    "ninth-cancel-in-stream",
    "SIGINT in mid-stream",
    {
      replies: [broken("hang", text("So far."))],
      stop: { when: /So far/, signals: ["SIGINT"], by: "cancel" },
    },
    { text: "So far." },
  ),
  cancelled(
    "ninth-cancel-grandchildren",
    "SIGINT with grandchildren",
    {
      replies: [answer(shell("sh -c 'sleep 45 & sleep 45 & wait'"))],
      stop: { when: IN_TOOL, signals: ["SIGINT"], by: "cancel" },
    },
    { tools: 1 },
  ),
  cancelled("ninth-cancel-at-start", "SIGINT before the first record or right behind it", {
    replies: [HANG],
    stop: { when: /^/, signals: ["SIGINT"], by: "cancel" },
  }),
  fails("ninth-killed-grandchildren", "crashed", "killed from outside", WORK[0], {
    replies: [answer(shell("sh -c 'sleep 45 & sleep 45'"))],
    stop: { when: IN_TOOL, signals: ["SIGKILL"], by: null },
    label: { tools: 1 },
  }),
  fails("ninth-aborted", "crashed", "SIGABRT from outside while the provider is silent", HANG, {
    stop: { when: /"turn\.started"/, signals: ["SIGABRT"], by: null },
  }),
];
