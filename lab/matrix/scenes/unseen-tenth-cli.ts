import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, failed, type Label, type Places, type Scene } from "../scene.ts";
import { acts, model, named, SAID, says } from "./unseen-tenth-parts.ts";

const database = ({ home }: Places): string => join(home, "data/opencode/opencode.db");
const lost = (why: string, more: Partial<Label> = {}) => failed("resume_degraded", why, { resumed: false, ...more });
const closed =
  (folder: string): NonNullable<Scene["prepare"]> =>
  ({ home }) => {
    mkdirSync(join(home, folder), { recursive: true });
    chmodSync(join(home, folder), 0o555);
  };
const OR_START = { also: ["executor_unavailable"] } as const;
const OR_CONFIG = { also: ["config_invalid"] } as const;

/** Runs that fail for what the CLI is given and finds, or whose output is lost. */
export const TENTH_CLI: readonly Scene[] = named([
  {
    name: "config-commas",
    prepare: ({ configFile }) => writeFileSync(configFile, '{"model": "lab/m",, "share": "disabled"}'),
    label: failed("config_invalid", "the configuration has a comma too many"),
  },
  {
    name: "config-list-of-models",
    config: ({ provider }) => void Object.assign(provider.lab, { models: ["m"] }),
    label: failed("config_invalid", "a list stands where the configuration has names"),
  },
  {
    name: "config-command-in-words",
    config: (config) => void (config["mcp"] = { lint: { type: "local", command: "npx lint-server" } }),
    label: failed("config_invalid", "a server's command is one text, not a list"),
  },
  {
    name: "key-nowhere",
    api: "messages",
    config: (config) => {
      delete config.provider.lab.options["apiKey"];
      model("claude-none-5")(config);
    },
    label: failed("credential_missing", "no key for another model", { also: ["auth_failed"] }),
  },
  {
    name: "directory-gone",
    isWorkspaceRemoved: true,
    args: ["--agent=build"],
    label: failed("executor_unavailable", "the work directory is removed", {
      also: ["invalid_request", "storage_error", "crashed"],
    }),
  },
  {
    name: "package-nowhere",
    config: ({ provider }) => void (provider.lab.npm = "@friendliai/ai-provider"),
    label: failed("executor_unavailable", "the package of a provider cannot be fetched", OR_CONFIG),
  },
  {
    name: "file-takes-the-message",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "notes.md"), "# Notes\n"),
    args: ["-f", "notes.md", "explain these notes"],
    label: failed("invalid_request", "the option of a file takes the message too"),
  },
  {
    name: "second-file-missing",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "a.log"), "x\n"),
    args: ["--file=a.log", "--file=b.log"],
    label: failed("invalid_request", "the second of two files is not there"),
  },
  {
    name: "message-with-dash",
    args: ["-help me with the build"],
    label: failed("invalid_request", "a message that begins with a dash", { also: ["output_incomplete"] }),
  },
  { name: "message-blank", prompt: " \n\t\n", label: failed("invalid_request", "a message of blanks") },
  {
    name: "message-nowhere-in-resume",
    continues: "answered",
    prompt: "",
    label: failed("invalid_request", "a resume without a message", { resumed: false }),
  },
  {
    name: "flag-of-another-tool",
    args: ["--max-turns", "3"],
    label: failed("invalid_request", "an option of another program"),
  },
  {
    name: "directory-of-another",
    args: ["--dir=../elsewhere"],
    label: failed("invalid_request", "--dir names no directory", { also: ["config_invalid", "executor_unavailable"] }),
  },
  {
    name: "command-deploy",
    args: ["--command=deploy"],
    label: failed("invalid_request", "a command that nobody wrote"),
  },
  {
    name: "provider-openai",
    args: ["--model=openai/gpt-5"],
    label: failed("model_not_found", "a provider that is not enabled", OR_CONFIG),
  },
  {
    name: "model-of-next-year",
    args: ["--model=lab/claude-opus-9"],
    label: failed("model_not_found", "a model that is not listed", OR_CONFIG),
  },
  {
    name: "model-of-configuration",
    config: (config) => void (config["model"] = "lab/kimi-k9"),
    label: failed("model_not_found", "the configuration names a model that it does not list", OR_CONFIG),
  },
  {
    name: "model-without-provider",
    args: ["--model=gpt-5-codex"],
    label: failed("model_not_found", "a model's name alone", { also: ["config_invalid", "invalid_request"] }),
  },
  {
    name: "model-nearly",
    config: model("qwen3-coder"),
    args: ["--model=lab/qwen3-codr"],
    label: failed("model_not_found", "a name with a letter missing", OR_CONFIG),
  },
  {
    name: "output-lost-in-pipe",
    isStdoutReadLate: true,
    script: acts([[bash("seq 1 30000")], [bash("seq 30000 60000")]]),
    label: failed("output_incomplete", "a pipe holds less than two long outputs", { toolCalls: 0, unknownRecords: 1 }),
  },
  {
    name: "answer-lost-in-pipe",
    isStdoutReadLate: true,
    script: () => say("All of it. ".repeat(12_000)),
    label: failed("output_incomplete", "a pipe holds less than the answer", { unknownRecords: 1 }),
  },
  {
    name: "output-read-by-nobody",
    isStdoutClosed: true,
    script: acts([[bash("echo unheard")]]),
    label: failed("output_incomplete", "nobody reads what is printed", { also: ["crashed"] }),
  },
  {
    name: "resume-forked",
    continues: "answered",
    args: ["--fork"],
    script: says,
    label: lost("the session is forked, so another one goes on", { finalText: SAID }),
  },
  {
    name: "resume-forked-from-none",
    session: "ses_1f00aa11bffeCDEFGHJKLMNPQR",
    args: ["--fork"],
    label: lost("a session is forked that is not there"),
  },
  {
    name: "resume-half-a-store",
    continues: "killed",
    prepare: (places) => {
      for (const end of ["-wal", "-shm"]) rmSync(`${database(places)}${end}`, { force: true });
    },
    script: says,
    label: lost("the turn before was killed, and a part of the store is lost"),
  },
  {
    name: "resume-of-another-machine",
    session: "ses_2b7c19d40ffe0aBcDeFgHiJkLm",
    label: lost("a session of another machine"),
  },
  {
    name: "resume-removed",
    continues: "answered",
    prepare: ({ home }) => rmSync(join(home, "data/opencode"), { recursive: true }),
    label: lost("the CLI's own data was removed"),
  },
  {
    name: "resume-by-uuid",
    session: "01a1fd22-0c1b-7a41-8e55-3f0f6f2f9b10",
    label: lost("the id of another CLI", { also: ["output_incomplete"] }),
  },
  {
    name: "resume-without-id",
    session: "",
    script: acts([[bash("echo new")]]),
    label: lost("an empty id: another session begins", { finalText: SAID, toolCalls: 1 }),
  },
  {
    name: "resume-store-overwritten",
    continues: "answered",
    prepare: (places) => {
      for (const end of ["-wal", "-shm"]) rmSync(`${database(places)}${end}`, { force: true });
      writeFileSync(database(places), Buffer.alloc(8192, 0xa5));
    },
    label: lost("the store was overwritten", { also: ["storage_error"] }),
  },
  {
    name: "store-header-alone",
    prepare: (places) => {
      mkdirSync(join(database(places), ".."), { recursive: true });
      writeFileSync(database(places), `SQLite format 3\0${"\u0001".repeat(1000)}`);
    },
    label: failed("storage_error", "of the store the first bytes alone are there", {
      also: ["executor_unavailable", "crashed"],
    }),
  },
  {
    name: "data-folder-closed",
    prepare: closed("data/opencode"),
    label: failed("storage_error", "the folder of the data cannot be written", OR_START),
  },
  {
    name: "state-folder-closed",
    prepare: closed("state"),
    label: failed("storage_error", "the folder of the state cannot be written", OR_START),
  },
  {
    name: "cache-folder-closed",
    prepare: closed("cache"),
    label: failed("storage_error", "the folder of the cache cannot be written", OR_START),
  },
  {
    name: "data-without-inodes",
    prepare: ({ home }) => {
      mkdirSync(join(home, "data"), { recursive: true });
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m,mode=777,nr_inodes=3", "none", join(home, "data")]);
    },
    cleanUp: ({ home }) => void spawnSync("umount", ["-l", join(home, "data")]),
    label: failed("storage_error", "the disk of the data takes no further files", OR_START),
  },
  {
    name: "command-without-log",
    logs: "none",
    args: ["--command=release"],
    label: failed("unknown", "a command that nobody wrote, and no log tells of it", { also: ["invalid_request"] }),
  },
]);
