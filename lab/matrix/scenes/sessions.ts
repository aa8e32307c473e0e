import { does, DONE, HANG, refuse, run, say } from "../reply.ts";
import { cancelled, fails, only, works, type Scene } from "../scene.ts";
import { BUSY, early, inTool, more, onceAsked, RESUMED, TOOL, valued } from "./parts.ts";

const FIRST = [say("First answer.")];
const KILLED = { earlierStop: { when: { shows: /"text"/ }, signals: ["SIGKILL"], by: null } } as const;
const ENDED = (...signals: NodeJS.Signals[]) => ({
  ...RESUMED([does(BUSY)]),
  earlierStop: inTool("cancel", ...signals),
});
const AGAIN = { resumed: true } as const;
const LOST = { resumed: false } as const;
const lost = (name: string, why: string, more_: Parameters<typeof fails>[4]): Scene =>
  fails(name, "resume_degraded", why, DONE, { ...LOST, ...more_ });
const DATABASE = "$store/opencode/opencode.db";
const WITHOUT_LOG = `rm -f ${DATABASE}-wal ${DATABASE}-shm`;
const ROLLOUTS = "cd $store && find . -name 'rollout-*'";
const onRollouts = (command: string): string => `${ROLLOUTS} | while read -r file; do ${command}; done`;

/** Sessions that go on, and sessions that are lost. */
export const SESSIONS: readonly Scene[] = [
  works("resume", "the same session goes on", DONE, { ...RESUMED(FIRST), ...AGAIN }),
  works("resume-with-tool", "a second turn, with a command", [TOOL, DONE], { ...RESUMED(FIRST), ...AGAIN }),
  works("resume-twice", "usage counts over the whole session", DONE, { ...RESUMED(FIRST, FIRST), ...AGAIN }),
  works("resume-after-failure", "a session whose last turn failed", DONE, {
    ...RESUMED([refuse(401, "Incorrect API key provided: bad.", "invalid_api_key")]),
    ...AGAIN,
  }),
  cancelled("resume-cancelled", "turnd cancels the second turn before its answer", HANG, {
    ...RESUMED(FIRST),
    ...AGAIN,
    stop: onceAsked(1, "cancel", "SIGINT", "SIGKILL"),
  }),
  lost("resume-id-of-another-kind", "the id of another CLI's session", {
    cliA: { resume: "01a1fd1a-5463-7e72-9eca-765c0aaffeed", also: ["output_incomplete"] },
    cliB: { resume: "ses_e02e5a526ffe2BVx71Fctcaay6", text: "Done." },
  }),
  ...only(
    "cli-a",
    works("resume-after-kill", "a session whose turn was killed goes on", DONE, {
      ...RESUMED(FIRST),
      ...KILLED,
      ...AGAIN,
    }),
    works("resume-other-model", "a session goes on with another model", DONE, {
      ...RESUMED(FIRST),
      ...AGAIN,
      config: { model: "lab/glm-4.6", small_model: "lab/glm-4.6", provider: { lab: { models: { "glm-4.6": {} } } } },
    }),
    works("resume-only-data", "of all that was kept, only the data is there", DONE, {
      ...RESUMED(FIRST),
      ...AGAIN,
      prepare: "rm -rf $home/cache $home/state",
    }),
    fails(
      "same-session-stops-early",
      "output_incomplete",
      "another run on the same session answers first: this one stops after its tool",
      [
        does(
          run(
            'echo "another" | timeout 60 "$LAB_CLI" run --format=json --continue >second.jsonl; tail -c 200 second.jsonl',
          ),
        ),
        say("This is not said."),
      ],
      { ...RESUMED(FIRST), ...AGAIN, env: { LAB_CLI: "{binary}" } },
    ),
    lost("resume-unknown-session", "a well-formed id that no session has", {
      resume: "ses_07b3fe0e7ffevGQYtPGAAk9Jih",
    }),
    lost("resume-malformed-id", "an id that is none", { resume: "nonsense" }),
    lost("resume-empty-id", "an empty id starts a new session", { resume: "", text: "Done." }),
    lost("resume-lost-store", "the data directory is gone", { ...RESUMED(FIRST), prepare: "rm -rf $store/*" }),
    lost("resume-corrupt-store", "the store is garbage", {
      ...RESUMED(FIRST),
      prepare: `${WITHOUT_LOG}; yes "this is no database" | head -200 >${DATABASE}`,
      also: ["storage_error"],
    }),
    lost("resume-store-without-log", "the store was copied without its write-ahead log", {
      ...RESUMED(FIRST),
      ...KILLED,
      prepare: WITHOUT_LOG,
      also: ["storage_error"],
    }),
    lost("resume-forked", "the session is forked, so another one goes on", {
      ...RESUMED(FIRST),
      args: more("--fork"),
      text: "Done.",
    }),
    lost("resume-forked-from-none", "a session is forked that is not there", {
      resume: "ses_222222222222CCCCCCCCCCCCCC",
      args: more("--fork"),
    }),
    fails("resume-without-message", "invalid_request", "a resume without a message", DONE, {
      ...RESUMED(FIRST),
      ...LOST,
      prompt: "",
    }),
  ),
  ...only(
    "cli-b",
    works("resume-with-stale-lock", "the thread of a process that was killed can be resumed", DONE, {
      ...RESUMED(FIRST),
      prepare: "touch $store/thread-writer-locks/stale 2>/dev/null || true",
    }),
    works("resume-after-interrupt", "the turn before was interrupted in a command", DONE, ENDED("SIGINT")),
    works("resume-after-hang-up", "the turn before was ended by a SIGHUP", DONE, ENDED("SIGHUP")),
    works("resume-elsewhere", "a thread goes on from another directory", DONE, {
      ...RESUMED(FIRST),
      prepare: "mkdir $home/elsewhere",
      args: valued("-C", (_before, { home }) => `${home}/elsewhere`),
    }),
    works("resume-only-histories", "of all that was kept, only the histories and the configuration are there", DONE, {
      ...RESUMED(FIRST),
      prepare: "cd $store && find . -mindepth 1 -maxdepth 1 ! -name sessions ! -name config.toml -exec rm -rf {} +",
    }),
    works("resume-with-model", "a thread goes on with another model", DONE, {
      ...RESUMED(FIRST),
      args: early("-m", "qwen3-coder-480b"),
    }),
    works("resume-dashes", "two dashes before the id, and a prompt that begins with a dash behind it", DONE, {
      ...RESUMED(FIRST),
      args: (args) => [...args.slice(0, -2), "--", ...args.slice(-2, -1), "-v means what?"],
    }),
    works("resume-in-sandbox", "another sandbox stands before the word resume", DONE, {
      ...RESUMED(FIRST),
      variables: { CLI_B_SANDBOX_MODE: "workspace-write" },
    }),
    works("resume-tail-cut", "the history's last line is cut in its middle", DONE, {
      ...RESUMED(FIRST),
      prepare: onRollouts('truncate -s -60 "$file"'),
    }),
    works("fork", "a thread is forked: a new one with its history", DONE, {
      ...RESUMED(FIRST),
      isFork: true,
      args: (args) => args.map((word) => (word === "resume" ? "fork" : word)),
    }),
    lost("resume-malformed-id", "an id that is none starts a new thread", { resume: "not-an-id", text: "Done." }),
    lost("resume-unknown-id", "no thread has this id", { resume: "01a1fd1a-5463-7e72-9eca-765c0aaffeed" }),
    lost("resume-unknown-in-capitals", "an unknown id in capitals", { resume: "01A1FD1A-5463-7E72-9ECA-765C0AAFFEED" }),
    lost("resume-history-deleted", "the thread's file is gone", { ...RESUMED(FIRST), prepare: `${ROLLOUTS} -delete` }),
    lost("resume-history-garbage", "the thread's file holds no history", {
      ...RESUMED(FIRST),
      prepare: onRollouts('echo garbage >"$file"'),
    }),
    lost("resume-history-headless", "the history has lost its first line", {
      ...RESUMED(FIRST),
      prepare: onRollouts('sed -i 1d "$file"'),
    }),
    lost("resume-history-of-another", "the history belongs to another user", {
      ...RESUMED(FIRST),
      prepareAsRoot: onRollouts('chown 0:0 "$file"; chmod 600 "$file"'),
      also: ["storage_error"],
    }),
    lost("resume-home-emptied", "all of the CLI's state but its configuration is gone", {
      ...RESUMED(FIRST),
      prepare: "cd $store && find . -mindepth 1 ! -name config.toml -delete",
    }),
    lost("resume-transcript-lost", "the turn before could not save its transcript; now there is room", {
      ...RESUMED(FIRST),
      disk: "size=64k",
      prepareAsRoot: "mount -o remount,size=16m $store",
    }),
    works(
      "resume-transcript-lost-later",
      "the second turn could not be saved: the CLI goes on without it, silently; turnd resumes no such thread",
      DONE,
      {
        ...RESUMED(FIRST, [say("Middle answer.")]),
        also: ["resume_degraded"],
        disk: "size=16m",
        beforeEarlier: ["", "dd if=/dev/zero of=$store/fill bs=4k 2>/dev/null || true"],
        prepare: "rm -f $store/fill",
      },
    ),
    fails("resume-active-writer", "storage_error", "another process has the thread", HANG, {
      ...RESUMED(FIRST),
      hasRival: true,
    }),
    fails("resume-without-prompt", "invalid_request", "stdin is empty", DONE, {
      ...RESUMED(FIRST),
      ...LOST,
      prompt: "",
    }),
    fails("resume-blank", "invalid_request", "a resume with a blank prompt", DONE, {
      ...RESUMED(FIRST),
      ...LOST,
      prompt: "  \n",
    }),
    fails("resume-option-behind", "invalid_request", "an option that is not taken behind the word resume", DONE, {
      ...RESUMED(FIRST),
      ...LOST,
      args: (args) => args.flatMap((word) => (word === "resume" ? ["resume", "-s", "read-only"] : [word])),
    }),
  ),
];
