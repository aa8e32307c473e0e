import { join } from "node:path";
import { wholeFile, type CliBCase } from "./case.ts";
import { answer, broken, HANG, refusal, shell, text } from "./replies.ts";

const FIRST = [answer(text("First answer."))] as const;
const SECOND = answer(text("Second answer."));
const again = (why: string): CliBCase["label"] => ({ status: "completed", text: "Second answer.", why });
const lost = (why: string): CliBCase["label"] => ({ status: "failed", code: "resume_degraded", why });
const STARTED = /"turn\.started"/;
const IN_TOOL = /"item\.started"/;
const ROLLOUTS = "find . -name 'rollout-*'";

/** Sessions, reviews, signals. */
export const SESSION_CASES: readonly CliBCase[] = [
  { name: "resume", label: again("the same thread goes on"), earlier: [FIRST], resume: "earlier", replies: [SECOND] },
  {
    name: "resume-twice",
    label: again("usage counts over the whole thread"),
    earlier: [FIRST, FIRST],
    resume: "earlier",
    replies: [SECOND],
  },
  {
    name: "resume-after-failure",
    label: again("a thread whose last turn failed"),
    earlier: [[refusal(401, { message: "Incorrect API key provided: bad.", code: "invalid_api_key" })]],
    resume: "earlier",
    replies: [SECOND],
  },
  {
    name: "resume-malformed-id",
    label: { ...lost("an id that is none starts a new thread"), text: "Second answer.", resumed: false },
    resume: "not-an-id",
    replies: [SECOND],
  },
  {
    name: "resume-unknown-id",
    label: lost("no thread has this id"),
    resume: "01a1fd1a-5463-7e72-9eca-765c0aaffeed",
    replies: [SECOND],
  },
  {
    name: "resume-history-deleted",
    label: lost("the thread's file is gone"),
    earlier: [FIRST],
    resume: "earlier",
    prepare: ({ shell: run, codexHome }) => run(`cd ${codexHome} && ${ROLLOUTS} -delete`),
    replies: [SECOND],
  },
  {
    name: "resume-history-garbage",
    label: lost("the thread's file holds no history"),
    earlier: [FIRST],
    resume: "earlier",
    prepare: ({ shell: run, codexHome }) =>
      run(`cd ${codexHome} && ${ROLLOUTS} | while read -r file; do echo garbage >"$file"; done`),
    replies: [SECOND],
  },
  {
    name: "resume-transcript-lost",
    label: lost("the turn before could not save its transcript; now there is room"),
    earlier: [FIRST],
    resume: "earlier",
    prepareHome: ({ shell: run, codexHome }) =>
      run(`mount -t tmpfs -o size=64k,mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`),
    prepare: ({ shell: run, codexHome }) => run(`mount -o remount,size=16m ${codexHome}`),
    replies: [SECOND],
  },
  {
    name: "resume-transcript-lost-later",
    label: {
      ...again(
        "the second turn could not be saved: the CLI goes on without it, silently; turnd resumes no such thread",
      ),
      also: ["resume_degraded"],
    },
    earlier: [FIRST, [answer(text("Middle answer."))]],
    resume: "earlier",
    beforeTurn: [
      ({ shell: run, codexHome }) => run(`mount -t tmpfs -o size=16m,mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`),
      ({ shell: run, codexHome }) => run(`dd if=/dev/zero of=${codexHome}/fill bs=4k 2>/dev/null; true`),
    ],
    prepare: ({ shell: run, codexHome }) => run(`rm ${codexHome}/fill`),
    replies: [SECOND],
  },
  {
    name: "resume-active-writer",
    label: { status: "failed", code: "storage_error", why: "another process has the thread" },
    earlier: [FIRST],
    resume: "earlier",
    hasRival: true,
    replies: [HANG],
  },
  {
    name: "resume-without-prompt",
    label: { status: "failed", code: "invalid_request", why: "stdin is empty", resumed: false },
    earlier: [FIRST],
    resume: "earlier",
    prompt: "",
    replies: [SECOND],
  },
  {
    name: "fork",
    isFork: true,
    label: { status: "completed", text: "Second answer.", why: "a thread is forked: a new one with its history" },
    earlier: [FIRST],
    resume: "earlier",
    args: (args) => args.map((word) => (word === "resume" ? "fork" : word)),
    replies: [SECOND],
  },
  {
    name: "review",
    label: { status: "completed", text: "Nothing to say.", why: "a review of what is not committed" },
    mode: "review",
    prepare: ({ shell: run, workspace }) =>
      run(`cd ${workspace} && git init -q . && echo one >a.txt && chown -R 1000:1000 .`),
    args: (args) => [...args.slice(0, -1), "--uncommitted"],
    replies: [
      answer(
        text(
          '{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"Nothing to say.","overall_confidence_score":0.9}',
        ),
      ),
    ],
  },
  {
    name: "review-provider-error",
    label: {
      status: "failed",
      code: "auth_failed",
      text: "Review was interrupted. Please re-run /review and wait for it to complete.",
      why: "the key is refused in a review",
    },
    mode: "review",
    prepare: ({ shell: run, workspace }) =>
      run(`cd ${workspace} && git init -q . && echo one >a.txt && chown -R 1000:1000 .`),
    args: (args) => [...args.slice(0, -1), "--uncommitted"],
    replies: [refusal(401, { message: "Incorrect API key provided: bad.", code: "invalid_api_key" })],
  },
  {
    name: "review-without-target",
    label: { status: "failed", code: "invalid_request", why: "nothing is named to review" },
    mode: "review",
    args: (args) => args.slice(0, -1),
    replies: [SECOND],
  },
  {
    name: "interrupted-in-tool",
    label: { status: "cancelled", tools: 1, why: "turnd sends SIGINT during a command" },
    replies: [answer(shell("echo started; sleep 60"))],
    stop: { when: IN_TOOL, signals: ["SIGINT"], by: "cancel" },
  },
  {
    name: "interrupted-in-stream",
    label: { status: "cancelled", text: "Half.", why: "turnd sends SIGINT while the provider is silent" },
    replies: [broken("hang", text("Half."))],
    stop: { when: /agent_message/, signals: ["SIGINT"], by: "cancel" },
  },
  {
    name: "killed-by-cancel",
    label: { status: "cancelled", why: "turnd has to use SIGKILL" },
    replies: [HANG],
    stop: { when: STARTED, signals: ["SIGKILL"], by: "cancel" },
  },
  {
    name: "interrupted-from-outside",
    label: { status: "failed", code: "crashed", also: ["unknown"], why: "a SIGINT that turnd did not send" },
    replies: [HANG],
    stop: { when: STARTED, signals: ["SIGINT"], by: null },
  },
  {
    name: "terminated-from-outside",
    label: { status: "failed", code: "crashed", tools: 1, why: "a SIGTERM that turnd did not send" },
    replies: [answer(shell("echo started; sleep 60"))],
    stop: { when: IN_TOOL, signals: ["SIGTERM"], by: null },
  },
  {
    name: "killed-from-outside",
    label: { status: "failed", code: "crashed", why: "a SIGKILL that turnd did not send" },
    replies: [HANG],
    stop: { when: STARTED, signals: ["SIGKILL"], by: null },
  },
  {
    name: "segmentation-fault",
    label: { status: "failed", code: "crashed", why: "it takes two SIGSEGV from outside to end it" },
    replies: [HANG],
    stop: { when: STARTED, signals: ["SIGSEGV", "SIGSEGV"], by: null },
  },
  {
    name: "killed-by-a-tool",
    label: { status: "failed", code: "crashed", tools: 1, why: "a command kills the CLI" },
    replies: [answer(shell("sleep 0.5; kill -9 $PPID; sleep 5"))],
  },
  {
    name: "provider-hangs",
    label: {
      status: "failed",
      code: "idle_timeout",
      why: "the provider accepts and says nothing; turnd ends the turn",
    },
    replies: [HANG],
    stop: { when: STARTED, signals: ["SIGINT"], by: "idle_timeout" },
  },
  {
    name: "waiting-for-network",
    label: {
      status: "failed",
      code: "network_error",
      also: ["idle_timeout"],
      why: "an operator lets it wait for the network; turnd ends the turn",
    },
    variables: {
      toml: wholeFile("[features]\nunbounded_connection_retries = true").replaceAll("{url}", "http://127.0.0.1:9/v1"),
    },
    replies: [HANG],
    stop: { when: /(?:waiting for network[^]*){2}/, signals: ["SIGINT"], by: "idle_timeout" },
  },
  {
    name: "resume-with-stale-lock",
    label: again("the thread of a process that was killed can be resumed"),
    earlier: [FIRST],
    prepare: ({ codexHome, shell: run }) =>
      run(`touch ${join(codexHome, "thread-writer-locks/stale")} 2>/dev/null; true`),
    resume: "earlier",
    replies: [SECOND],
  },
];
