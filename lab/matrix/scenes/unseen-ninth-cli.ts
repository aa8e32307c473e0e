import { chmodSync, mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, completed, failed, steps, type Places, type Scene } from "../scene.ts";

const store = ({ home }: Places): string => join(home, "data/opencode/opencode.db");
const lost = (why: string, more: Partial<Scene["label"]> = {}) =>
  failed("resume_degraded", why, { resumed: false, ...more });
const locked =
  (name: string) =>
  ({ home }: Places) => {
    mkdirSync(join(home, name), { recursive: true });
    chmodSync(join(home, name), 0o500);
  };

/** Turns that fail for what the CLI is given, or finds. */
export const NINTH_CLI: readonly Scene[] = [
  {
    name: "ninth-model-near-miss",
    config: ({ provider }) => void Object.assign(provider.lab.models, { "gpt-5.4": {}, "gpt-5.4-mini": {} }),
    args: ["--model=lab/gpt-5.4-mni"],
    label: failed("model_not_found", "a model id close to known ones", { also: ["config_invalid"] }),
  },
  {
    name: "ninth-model-unknown",
    args: ["--model=lab/claude-opus-4-1@20250805"],
    label: failed("model_not_found", "an unknown model id", { also: ["config_invalid"] }),
  },
  {
    name: "ninth-model-without-provider",
    args: ["--model=gpt-5"],
    label: failed("model_not_found", "a model name without a provider", {
      also: ["config_invalid", "invalid_request"],
    }),
  },
  {
    name: "ninth-provider-unknown",
    args: ["--model=openrouter/qwen/qwen3-coder"],
    label: failed("model_not_found", "a provider that is not configured", { also: ["config_invalid"] }),
  },
  {
    name: "ninth-provider-package-missing",
    config: ({ provider }) => void (provider.lab.npm = "@lab-nosuch/provider"),
    label: failed("executor_unavailable", "the provider's package cannot be fetched", { also: ["config_invalid"] }),
  },
  {
    name: "ninth-config-cut",
    prepare: ({ configFile }) =>
      writeFileSync(configFile, '{\n  // lab\n  "model": "lab/m",\n  "provider": {\n    "lab": {'),
    label: failed("config_invalid", "the configuration is cut off"),
  },
  {
    name: "ninth-config-wrong-type",
    config: (config) => void Object.assign(config, { permission: { bash: "sometimes" }, instructions: "RULES.md" }),
    label: failed("config_invalid", "values of wrong types"),
  },
  {
    name: "ninth-attachment-missing",
    args: ["--file=shots/screen.png", "--thinking"],
    label: failed("invalid_request", "an attachment that is not there"),
  },
  {
    name: "ninth-attachment-takes-message",
    prompt: "",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "notes.txt"), "notes\n"),
    args: ["-f", "notes.txt", "summarise these"],
    label: failed("invalid_request", "the attachment flag swallows the message"),
  },
  { name: "ninth-message-blank", prompt: " \n\n", label: failed("invalid_request", "blank lines for a message") },
  {
    name: "ninth-message-null-device",
    prompt: "",
    args: ["--agent=build"],
    label: failed("invalid_request", "no message"),
  },
  {
    name: "ninth-message-dash",
    prompt: "",
    args: ["-hurry up please"],
    label: failed("invalid_request", "a message that begins with a dash prints the usage", {
      also: ["output_incomplete"],
      unknownRecords: 34,
    }),
  },
  { name: "ninth-flag-unknown", args: ["--temperature=0.2"], label: failed("invalid_request", "an unknown flag") },
  {
    name: "ninth-command-unknown",
    args: ["--command=deploy"],
    label: failed("invalid_request", "an unknown command"),
  },
  {
    name: "ninth-directory-missing",
    args: ["--dir=/srv/checkout"],
    label: failed("invalid_request", "--dir does not exist", { also: ["config_invalid", "executor_unavailable"] }),
  },
  {
    name: "ninth-directory-removed",
    isWorkspaceRemoved: true,
    label: failed("executor_unavailable", "the current directory was deleted", {
      also: ["invalid_request", "storage_error", "crashed"],
    }),
  },
  {
    name: "ninth-stdin-open",
    isStdinOpen: true,
    stop: { afterMs: 20_000, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "stdin is left open, the run waits"),
  },
  {
    name: "ninth-password-inherited",
    env: { OPENCODE_SERVER_PASSWORD: "hunter2" },
    label: completed("a variable that broke the start of 1.3.2 is inherited; 1.18.33 does not mind"),
  },
  // Sessions.
  {
    name: "ninth-session-unknown",
    session: "ses_5c1f00d2affeQmPl9ZkT3vXw8Y",
    label: lost("an unknown but well-formed id"),
  },
  {
    name: "ninth-session-unknown-with-store",
    continues: "answered",
    session: "ses_111111111111BBBBBBBBBBBBBB",
    label: lost("an id that is not in the store; another session is"),
  },
  {
    name: "ninth-session-malformed",
    session: "01a1fd1a-5463-7e72-9eca-765c0aaffeed",
    label: lost("a thread's id of the other CLI", { also: ["output_incomplete"] }),
  },
  {
    name: "ninth-session-empty",
    session: "",
    script: () => say("Hello."),
    label: lost("an empty id, a new session", { finalText: "Hello." }),
  },
  {
    name: "ninth-session-forked",
    continues: "answered",
    args: ["--fork"],
    script: steps([[bash("echo fork")]]),
    label: lost("the requested session is continued as a fork", { finalText: "Done.", toolCalls: 1 }),
  },
  {
    name: "ninth-session-fork-unknown",
    session: "ses_222222222222CCCCCCCCCCCCCC",
    args: ["--fork"],
    label: lost("a fork of an unknown session"),
  },
  {
    name: "ninth-session-store-without-log",
    continues: "killed",
    prepare: (places) => ["-wal", "-shm"].forEach((end) => rmSync(`${store(places)}${end}`, { force: true })),
    label: lost("the store was copied without its write-ahead log", { also: ["storage_error"] }),
  },
  {
    name: "ninth-session-store-garbage",
    continues: "answered",
    prepare: (places) => garbage(places),
    label: lost("the session store is garbage", { also: ["storage_error"] }),
  },
  // Storage.
  {
    name: "ninth-store-truncated",
    prepare: (places) => {
      garbage(places);
      truncateSync(store(places), 777);
    },
    label: failed("storage_error", "the store is cut, a new session", { also: ["executor_unavailable", "crashed"] }),
  },
  {
    name: "ninth-data-is-file",
    prepare: ({ home }) => writeFileSync(join(home, "data"), "in the way\n"),
    label: failed("storage_error", "a file stands where the data directory is to be", {
      also: ["executor_unavailable"],
    }),
  },
  {
    name: "ninth-data-locked",
    logs: "none",
    prepare: locked("data"),
    label: failed("storage_error", "the data directory cannot be written", { also: ["executor_unavailable"] }),
  },
  {
    name: "ninth-cache-locked",
    prepare: locked("cache"),
    label: failed("storage_error", "the cache directory cannot be written", { also: ["executor_unavailable"] }),
  },
  {
    name: "ninth-store-full-in-turn",
    prepare: ({ home }) => {
      mkdirSync(join(home, "data"), { recursive: true });
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=5m,mode=777", "none", join(home, "data")]);
    },
    cleanUp: ({ home }) => void spawnSync("umount", ["-l", join(home, "data")]),
    script: steps([
      [bash('cat /dev/zero >"$XDG_DATA_HOME/core.1" 2>/dev/null; ls -l "$XDG_DATA_HOME"')],
      [bash("seq 1 600")],
      [call("read", { filePath: "/etc/services" })],
      [bash("seq 1 600")],
      [bash("seq 1 600")],
    ]),
    label: failed("storage_error", "a tool fills the disk of the store: the statement fails in the turn"),
  },
];

function garbage(places: Places): void {
  const path = store(places);
  mkdirSync(join(path, ".."), { recursive: true });
  for (const end of ["-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
  writeFileSync(path, Buffer.alloc(16_384, 0xa5));
}
