import { wholeFile, type CliBCase } from "./case.ts";
import { answer, shell, text } from "./replies.ts";
import { DONE, endWith, fails, insert, works } from "./unseen-ninth-parts.ts";

const small =
  (options: string): NonNullable<CliBCase["prepareHome"]> =>
  ({ shell: run, codexHome }) =>
    run(`mount -t tmpfs -o ${options},mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`);

/** No process below it can make a user namespace. */
const WITHOUT_NAMESPACES = [
  "/usr/bin/unshare",
  "-Ur",
  "/bin/sh",
  "-c",
  'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"',
  "sh",
];

/** What the CLI is given, finds at its start, or cannot write. */
export const NINTH_START_CASES: readonly CliBCase[] = [
  fails("ninth-config-cut", "config_invalid", "config.toml is cut off", DONE, {
    prepare: ({ shell: run, codexHome }) =>
      run(`printf 'model = "m1"\\n[model_providers.mine\\nname = "mi' >${codexHome}/config.toml`),
  }),
  fails("ninth-provider-unknown", "config_invalid", "an unknown provider", DONE, {
    prepare: ({ shell: run, codexHome }) =>
      run(`sed -i 's/^model_provider = .*/model_provider = "groq"/' ${codexHome}/config.toml`),
    variables: { toml: wholeFile() },
  }),
  fails("ninth-config-wrong-type", "config_invalid", "a table where a number is to be", DONE, {
    variables: { toml: wholeFile() },
    prepare: ({ shell: run, codexHome }) =>
      run(`sed -i 's/^request_max_retries = .*/request_max_retries = "many"/' ${codexHome}/config.toml`),
  }),
  fails("ninth-config-profiles", "config_invalid", "a profile of the old table", DONE, {
    variables: { toml: wholeFile('[profiles.fast]\nmodel = "m2"') },
    args: insert("-p", "fast"),
  }),
  fails("ninth-key-missing", "credential_missing", "the variable of the key is empty", DONE, {
    variables: { toml: wholeFile().replace("LAB_KEY", "ANTHROPIC_LAB_TOKEN") },
  }),
  fails("ninth-flag-unknown", "invalid_request", "an unknown flag", DONE, { args: insert("--temperature=0.3") }),
  fails("ninth-flag-value", "invalid_request", "a value that a flag does not take", DONE, {
    args: (args) => args.map((word, index) => (args[index - 1] === "-s" ? "full-access" : word)),
  }),
  fails("ninth-no-repository", "invalid_request", "not a git repository", DONE, {
    args: (args) => args.filter((word) => word !== "--skip-git-repo-check"),
    prompt: "What is in here?\n",
    label: { also: ["config_invalid", "executor_unavailable"] },
  }),
  fails("ninth-schema-cut", "invalid_request", "the schema's file is no JSON", DONE, {
    outputSchema: '{"type":"object","properties":{"a":',
    label: { also: ["config_invalid"] },
  }),
  fails("ninth-prompt-too-large", "invalid_request", "a prompt of 1.2 million characters", DONE, {
    prompt: "A line of a log.\n".repeat(72_000),
    label: { also: ["context_overflow"] },
  }),
  fails("ninth-image-takes-prompt", "invalid_request", "the image flag swallows the prompt", DONE, {
    args: endWith("-i", "plot.png", "What does it show?"),
    prompt: "",
  }),
  fails("ninth-directory-missing", "invalid_request", "the work directory does not exist", DONE, {
    args: (args) => args.map((word, index) => (args[index - 1] === "-C" ? `${word}/checkout` : word)),
    label: { also: ["config_invalid", "executor_unavailable", "storage_error"] },
  }),
  fails("ninth-prompt-latin", "invalid_request", "a prompt in Latin-1, which is not UTF-8", DONE, {
    prompt: Buffer.from("Gr\u00FC\u00DFe, bitte z\u00E4hlen\n", "latin1"),
  }),
  fails("ninth-home-read-only", "storage_error", "the home is on a read-only file system", DONE, {
    prepare: ({ shell: run, codexHome }) =>
      run(`mount --bind ${codexHome} ${codexHome} && mount -o remount,ro,bind ${codexHome}`),
    label: { also: ["executor_unavailable"] },
  }),
  fails("ninth-home-of-another", "storage_error", "the home is another user's", DONE, {
    prepare: ({ shell: run, codexHome }) => run(`chown -R 0:0 ${codexHome} && chmod -R a+rX,go-w ${codexHome}`),
    label: { also: ["executor_unavailable"] },
  }),
  works("ninth-disk-full-at-start", "no room from the start: 0.169.0 goes on, where 0.139.0 ended", [DONE], {
    prepareHome: small("size=48k"),
    label: { also: ["storage_error"] },
  }),
  works(
    "ninth-disk-full-in-turn",
    "no room during the turn: the turn goes on",
    [answer(shell("seq 1 9000 | head -c 40000")), answer(text("Half way."), shell("seq 1 9000 | head -c 40000")), DONE],
    {
      prepareHome: small("size=720k"),
      label: { also: ["storage_error"], tools: 2 },
    },
  ),
  works(
    "ninth-sessions-locked",
    "the session's log cannot be written, the turn goes on",
    [answer(shell("echo one")), DONE],
    {
      prepareHome: ({ shell: run, codexHome }) =>
        run(`mkdir -p ${codexHome}/sessions && chmod 555 ${codexHome}/sessions`),
      label: { tools: 1 },
    },
  ),
  fails("ninth-prompt-dash", "invalid_request", "a prompt that begins with a dash", DONE, {
    args: endWith("-quiet please, what is this?"),
  }),
  works(
    "ninth-no-namespaces-unsandboxed",
    "no user namespaces, no sandbox wanted",
    [answer(shell("id -un; pwd")), DONE],
    {
      within: WITHOUT_NAMESPACES,
      label: { tools: 1 },
    },
  ),
  works(
    "ninth-no-namespaces",
    "the sandbox cannot be made: commands fail, the turn completes",
    [answer(shell("ls")), answer(shell("cat README.md")), answer(text("Nothing runs here."))],
    {
      variables: { CLI_B_SANDBOX_MODE: "workspace-write" },
      within: WITHOUT_NAMESPACES,
      label: { text: "Nothing runs here.", tools: 2, also: ["sandbox_unavailable"] },
    },
  ),
];
