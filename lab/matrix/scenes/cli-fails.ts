import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { bash, call, completed, failed, steps, type Places, type Scene } from "../scene.ts";

const IN_TOOL = { file: "started" } as const;
const database = ({ home }: Places): string => join(home, "data/opencode/opencode.db");
const inTool = steps([[bash("touch started; sleep 30")]]);
const UNKNOWN_SESSION = "ses_07b3fe0e7ffevGQYtPGAAk9Jih";

/** Turns that fail for what the CLI is given, finds on the disk, or is sent. */
export const CLI_FAILS: readonly Scene[] = [
  {
    name: "unknown-model",
    args: ["--model=lab/nope"],
    label: failed("model_not_found", "no such model is configured"),
  },
  {
    name: "unknown-provider",
    args: ["--model=nobody/m"],
    label: failed("model_not_found", "no such provider is configured", { also: ["config_invalid"] }),
  },
  { name: "unknown-command", args: ["--command=nosuch"], label: failed("invalid_request", "no such command") },
  { name: "unknown-flag", args: ["--no-such-flag"], label: failed("invalid_request", "a flag that is not known") },
  { name: "no-message", prompt: "", label: failed("invalid_request", "no prompt") },
  {
    name: "prompt-not-text",
    prompt: Buffer.from([0x68, 0xff, 0xfe, 0x80, 0x00, 0x6f]),
    label: completed("bytes that are not UTF-8 reach the model as U+FFFD, and it answers"),
  },
  {
    name: "attachment-missing",
    args: ["--file=missing.txt", "--thinking"],
    label: failed("invalid_request", "a file that is not there"),
  },
  { name: "directory-missing", args: ["--dir=/nowhere"], label: failed("invalid_request", "--dir that is not there") },
  {
    name: "config-not-json",
    prepare: ({ configFile }) => writeFileSync(configFile, '{"model": '),
    label: failed("config_invalid", "the configuration is not JSON"),
  },
  {
    name: "config-invalid",
    config: (config) => void (config["share"] = 5),
    label: failed("config_invalid", "a value of the wrong type"),
  },
  {
    name: "config-unreadable",
    args: ["--model=lab/m"],
    prepare: ({ configFile }) => chmodSync(configFile, 0),
    label: failed(
      "model_not_found",
      "the configuration cannot be read, so the CLI knows no such model; no line says why",
      {
        also: ["config_invalid"],
      },
    ),
  },
  {
    name: "provider-package-missing",
    config: ({ provider }) => void (provider.lab.npm = "lab-nosuch-package"),
    label: failed("executor_unavailable", "the provider's package cannot be fetched", { also: ["config_invalid"] }),
  },
  {
    name: "resume-unknown-session",
    session: UNKNOWN_SESSION,
    label: failed("resume_degraded", "a well-formed id that no session has", { resumed: false }),
  },
  {
    name: "resume-malformed-id",
    session: "nonsense",
    label: failed("resume_degraded", "an id that is none", { resumed: false }),
  },
  {
    name: "resume-empty-id",
    session: "",
    label: failed("resume_degraded", "an empty id starts a new session", { finalText: "Done.", resumed: false }),
  },
  {
    name: "resume-lost-store",
    continues: "answered",
    prepare: ({ home }) => rmSync(join(home, "data"), { recursive: true }),
    label: failed("resume_degraded", "the data directory is gone", { resumed: false }),
  },
  {
    name: "resume-corrupt-store",
    continues: "answered",
    prepare: (places) => damage(places),
    label: failed("resume_degraded", "the store is garbage", { also: ["storage_error"], resumed: false }),
  },
  {
    name: "corrupt-store",
    prepare: (places) => damage(places),
    label: failed("storage_error", "the store is garbage"),
  },
  {
    name: "data-not-writable",
    prepare: ({ home }) => {
      mkdirSync(join(home, "data"), { recursive: true });
      chmodSync(join(home, "data"), 0o555);
    },
    label: failed("storage_error", "the data directory is read-only"),
  },
  {
    name: "store-disk-full",
    prepare: ({ home }) => mountSmall(join(home, "data"), "64k"),
    cleanUp: ({ home }) => unmount(join(home, "data")),
    label: failed("storage_error", "the disk of the store is full from the start"),
  },
  {
    name: "store-disk-full-later",
    prepare: ({ home }) => mountSmall(join(home, "data"), "4m"),
    cleanUp: ({ home }) => unmount(join(home, "data")),
    script: steps([
      [bash('dd if=/dev/zero of="$XDG_DATA_HOME/full" 2>/dev/null; echo full')],
      [bash("seq 1 400")],
      [bash("seq 1 400")],
      [bash("seq 1 400")],
    ]),
    label: failed("storage_error", "a tool fills the disk of the store"),
  },
  {
    name: "permission-auto-rejected",
    config: (config) => void (config.permission = { "*": "allow", bash: "ask" }),
    script: steps([[bash("echo hello")]]),
    label: failed("permission_denied", "the top session's question is rejected", { toolCalls: 1 }),
  },
  {
    name: "doom-loop-denied",
    config: (config) => void (config.permission = { "*": "allow", doom_loop: "deny" }),
    script: steps([[bash("echo same"), bash("echo same"), bash("echo same"), bash("echo same")]]),
    label: failed("permission_denied", "the same call over and over"),
  },
  {
    name: "external-directory-rejected",
    config: (config) => void (config.permission = { "*": "allow", external_directory: "ask" }),
    script: steps([[call("read", { filePath: "/etc/hostname" })]]),
    label: failed("permission_denied", "a question about a file outside is rejected", { toolCalls: 1 }),
  },
  {
    name: "interrupted-in-tool",
    script: inTool,
    stop: { ...IN_TOOL, signal: "SIGINT", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGINT while a command runs" },
  },
  {
    name: "terminated-at-start",
    stop: { shows: /./g, times: 1, signal: "SIGTERM", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGTERM before the first record" },
  },
  {
    name: "killed-from-outside",
    script: inTool,
    stop: { ...IN_TOOL, signal: "SIGKILL", endedBy: null },
    label: failed("crashed", "SIGKILL by somebody else"),
  },
  {
    name: "segmentation-fault",
    script: inTool,
    stop: { ...IN_TOOL, signal: "SIGSEGV", endedBy: null },
    label: failed("crashed", "SIGSEGV, which the runtime reports and ends with another signal"),
  },
  {
    name: "aborted-from-outside",
    script: inTool,
    stop: { ...IN_TOOL, signal: "SIGABRT", endedBy: null },
    label: failed("crashed", "SIGABRT by somebody else"),
  },
  {
    name: "reader-gone",
    isStdoutClosed: true,
    label: failed("output_incomplete", "nobody reads stdout", { also: ["crashed"] }),
  },
];

function damage(places: Places): void {
  const path = database(places);
  mkdirSync(join(path, ".."), { recursive: true });
  for (const end of ["-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
  writeFileSync(path, "this is no database\n".repeat(200));
}

function mountSmall(path: string, size: string): void {
  mkdirSync(path, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=777`, "none", path]);
}

/** Whether the scene came as far as to mount it or not. */
function unmount(path: string): void {
  spawnSync("umount", ["-l", path]);
}
