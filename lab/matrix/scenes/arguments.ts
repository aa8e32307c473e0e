import { DONE } from "../reply.ts";
import { fails, only, works, type Scene } from "../scene.ts";
import { early, instead, more, OR_CONFIG, swap, valued, without, wrong } from "./parts.ts";

const PATHS = { also: ["config_invalid", "executor_unavailable"] } as const;

/** Arguments and prompts that a CLI does not take, and directories that are not there. */
export const ARGUMENTS: readonly Scene[] = [
  wrong("unknown-flag", "invalid_request", "an option that is none", { args: early("--no-such-option") }),
  wrong("no-message", "invalid_request", "no prompt", { prompt: "", cliB: { name: "no-prompt" } }),
  wrong("prompt-blank", "invalid_request", "a prompt of white space", { prompt: " \n\t\n" }),
  ...only(
    "cli-a",
    wrong("unknown-command", "invalid_request", "no such command", { args: more("--command=nosuch") }),
    fails("unknown-command-no-log", "unknown", "no such command, and no log tells of it", DONE, {
      args: more("--command=nosuch"),
      logs: "none",
      also: ["invalid_request"],
    }),
    wrong("attachment-missing", "invalid_request", "a file that is not there", {
      args: more("--file=missing.txt", "--thinking"),
    }),
    wrong("attachment-takes-message", "invalid_request", "the option of a file takes the message too", {
      prompt: "",
      prepare: "echo notes >$workspace/notes.txt",
      args: more("-f", "notes.txt", "summarise these"),
    }),
    wrong("message-with-dash", "invalid_request", "a message that begins with a dash prints the usage", {
      prompt: "",
      args: more("-hurry up please"),
      also: ["output_incomplete"],
      unknownRecords: 34,
    }),
    wrong("directory-missing", "invalid_request", "--dir that is not there", {
      ...PATHS,
      args: more("--dir=/nowhere"),
    }),
    fails(
      "directory-removed",
      "executor_unavailable",
      "the work directory is removed once the process stands in it",
      DONE,
      {
        within: ["/bin/sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh"],
        also: ["invalid_request", "storage_error", "crashed"],
      },
    ),
  ),
  ...only(
    "cli-b",
    wrong("sandbox-of-no-kind", "invalid_request", "-s has a value that is none", {
      args: swap("danger-full-access", "everything"),
    }),
    wrong("prompt-not-utf-8", "invalid_request", "stdin is not UTF-8", {
      prompt: Buffer.from([0x68, 0x69, 0xff, 0xfe, 0x0a]),
    }),
    wrong("prompt-too-large", "invalid_request", "more characters than it takes", {
      prompt: "word ".repeat(220_000),
      also: ["context_overflow"],
    }),
    wrong("prompt-with-dashes", "invalid_request", "a prompt that begins with dashes", {
      args: instead("--why does the build fail?"),
    }),
    wrong("image-takes-prompt", "invalid_request", "two images and the prompt behind one option", {
      prompt: "",
      args: instead("-i", "a.png", "b.png", "compare these"),
    }),
    wrong("output-schema-invalid", "invalid_request", "the schema is no JSON", { outputSchema: "{not json" }),
    wrong("output-schema-missing", "invalid_request", "the schema's file is not there", {
      ...OR_CONFIG,
      args: early("--output-schema", "/nowhere/schema.json"),
    }),
    wrong("workspace-missing", "invalid_request", "-C names no directory", {
      args: valued("-C", () => "/nonexistent"),
    }),
    works("workspace-forbidden", "-C names a directory that is closed: the CLI does not look", DONE, {
      prepareAsRoot: "mkdir -m 700 $home/closed",
      args: valued("-C", (_before, { home }) => `${home}/closed`),
    }),
    works("workspace-is-file", "-C names a file: the CLI does not look", DONE, {
      args: valued("-C", () => "/etc/hostname"),
    }),
    wrong("not-a-git-repository", "invalid_request", "without --skip-git-repo-check", {
      args: without("--skip-git-repo-check"),
    }),
    wrong("home-missing", "config_invalid", "CODEX_HOME does not exist", { prepare: "rm -rf $store" }),
    wrong("home-is-a-file", "config_invalid", "CODEX_HOME is a file", {
      prepare: "rm -rf $store; touch $store",
      also: ["storage_error"],
    }),
  ),
];
