import { wholeFile, type CliBCase } from "./case.ts";
import { answer, HANG, text } from "./replies.ts";
import { early, END, instead, refuses } from "./unseen-tenth-parts.ts";

const asBroken = (command: string): Pick<CliBCase, "prepare"> => ({
  prepare: ({ shell, codexHome }) => shell(`cd ${codexHome} && ${command}`),
});
const PATHS = ["config_invalid", "executor_unavailable", "storage_error"] as const;

/** What the CLI is given and finds: arguments, a configuration, a home. */
export const TENTH_START: readonly CliBCase[] = [
  refuses(
    "config-cut",
    "config_invalid",
    "a string of config.toml does not end",
    END,
    asBroken(`printf '\\nnote = "never closed\\n' >>config.toml`),
  ),
  refuses(
    "config-provider-gone",
    "config_invalid",
    "config.toml names a provider that it does not have",
    END,
    asBroken(`sed -i 's/model_provider *= *"[^"]*"/model_provider = "azure-eu"/' config.toml`),
  ),
  refuses("config-retries-in-words", "config_invalid", "a number of retries is written in words", END, {
    variables: { toml: wholeFile() },
    ...asBroken(`sed -i 's/^stream_max_retries = .*/stream_max_retries = "many"/' config.toml`),
  }),
  refuses("config-old-profile", "config_invalid", "-p names a profile that stands in config.toml", END, {
    ...asBroken(`printf '\\n[profiles.quick]\\nmodel = "m2"\\n' >>config.toml`),
    args: early("-p", "quick"),
  }),
  refuses(
    "config-server-of-nothing",
    "config_invalid",
    "an MCP server has neither a command nor an address",
    END,
    asBroken(`printf '\\n[mcp_servers.empty]\\nenabled = true\\n' >>config.toml`),
  ),
  refuses(
    "key-not-in-environment",
    "credential_missing",
    "the provider's key is in no variable",
    END,
    asBroken(`sed -i 's/env_key *= *.*/env_key = "OPENROUTER_API_KEY"/' config.toml`),
  ),
  refuses("wire-chat", "executor_unavailable", "the provider is to speak another protocol", END, {
    label: { also: ["config_invalid"] },
    variables: { toml: wholeFile() },
    args: early("-c", 'model_providers.mine.wire_api="chat"'),
  }),
  refuses("resume-directory-late", "invalid_request", "a directory is named behind the word resume", END, {
    label: { resumed: false },
    earlier: [[answer(text("Noted."))]],
    resume: "earlier",
    args: (args) => [...args.slice(0, -2), "-C", "/workspace", ...args.slice(-2)],
  }),
  refuses("resume-says-nothing", "invalid_request", "a resume without a prompt, and stdin is empty", END, {
    label: { resumed: false },
    earlier: [[answer(text("Noted."))]],
    resume: "earlier",
    prompt: "",
    args: (args) => args.slice(0, -1),
  }),
  refuses("flag-of-another-tool", "invalid_request", "an option of another tool", END, {
    args: early("--temperature=0.2"),
  }),
  refuses("sandbox-of-no-kind", "invalid_request", "-s has a value that is none", END, {
    args: (args) => args.map((word) => (word === "danger-full-access" ? "everything" : word)),
  }),
  refuses("no-repository", "invalid_request", "a plan in a directory that is no repository", END, {
    label: { also: ["config_invalid", "executor_unavailable"] },
    mode: "plan",
    args: (args) => args.filter((word) => word !== "--skip-git-repo-check"),
  }),
  refuses("schema-cut", "invalid_request", "the schema's file is cut off", END, {
    label: { also: ["config_invalid"] },
    outputSchema: '{"type":"object","properties":{"a":',
  }),
  refuses("schema-missing", "invalid_request", "the schema's file is not there", END, {
    label: { also: ["config_invalid"] },
    args: early("--output-schema", "/nowhere/schema.json"),
  }),
  refuses("prompt-of-a-million", "invalid_request", "more characters than are allowed, of two bytes each", END, {
    label: { also: ["context_overflow"] },
    prompt: "é".repeat(1_100_000),
  }),
  refuses("prompt-with-dashes", "invalid_request", "a prompt that begins with dashes", END, {
    args: instead("--why does the build fail?"),
  }),
  refuses("prompt-is-a-command", "invalid_request", "the prompt is the word review, and a title follows", END, {
    args: instead("review", "--title", "Fix the parser"),
  }),
  refuses("images-take-the-prompt", "invalid_request", "two images and the prompt behind one option", END, {
    prompt: "",
    args: instead("-i", "a.png", "b.png", "compare these"),
  }),
  refuses("directory-with-spaces", "invalid_request", "-C names no directory", END, {
    label: { also: PATHS },
    args: (args, { home }) => args.map((word, index) => (args[index - 1] === "-C" ? `${home}/my work (old)` : word)),
  }),
  refuses("home-closed", "storage_error", "nobody may write into CODEX_HOME", END, {
    label: { also: ["executor_unavailable"] },
    ...asBroken("chmod -R a-w ."),
  }),
  refuses("home-read-only", "storage_error", "CODEX_HOME is on a disk that is mounted to be read", END, {
    label: { also: ["executor_unavailable"] },
    prepareHome: ({ shell, codexHome }) =>
      shell(`mount -t tmpfs -o size=8m,mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`),
    ...asBroken("mount -o remount,ro $PWD"),
  }),
  // Labelled `completed` at first, as the contract says of a home that is full at its mount.
  refuses("home-full", "storage_error", "CODEX_HOME is full before the start", END, {
    label: { also: ["executor_unavailable"] },
    prepareHome: ({ shell, codexHome }) =>
      shell(`mount -t tmpfs -o size=1m,mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`),
    ...asBroken("dd if=/dev/zero of=fill bs=4k 2>/dev/null; true"),
  }),
  {
    name: "tenth-hung-up-by-others",
    label: { status: "failed", code: "crashed", why: "a SIGHUP that turnd did not send" },
    replies: [HANG],
    stop: { when: /"turn\.started"/, signals: ["SIGHUP"], by: null },
  },
];
