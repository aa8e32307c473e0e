import { writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, failed, steps, type Scene } from "../scene.ts";

const busy = steps([[bash("touch started; sleep 40; echo never")]]);
const IN_TOOL = { file: "started" } as const;
const asks =
  (permission: Readonly<Record<string, unknown>>): NonNullable<Scene["config"]> =>
  (config) =>
    void Object.assign(config, { permission: { "*": "allow", ...permission } });
const rejected = (why: string, more: Partial<Scene["label"]> = {}) =>
  failed("permission_denied", why, { toolCalls: 1, ...more });

/** Turns that stop at a question, by a signal, or with their output lost. */
export const NINTH_STOPS: readonly Scene[] = [
  // Permissions.
  {
    name: "ninth-asks-shell",
    config: asks({ bash: "ask" }),
    script: steps([[{ type: "text", text: "I push it." }, bash("git push origin main")]]),
    label: rejected("the shell is asked and auto-rejected", { finalText: "I push it." }),
  },
  {
    name: "ninth-asks-shell-by-pattern",
    config: asks({ bash: { "*": "allow", "curl *": "ask" } }),
    script: steps([[bash("echo before")], [bash("curl http://127.0.0.1:9/")]]),
    label: rejected("one command of a pattern is asked and auto-rejected, after one that ran", { toolCalls: 2 }),
  },
  {
    name: "ninth-asks-two-tools",
    config: asks({ bash: "ask" }),
    script: steps([[bash("npm install"), bash("npm test")]]),
    label: rejected("two commands asked and auto-rejected", { toolCalls: 2, also: ["output_incomplete"] }),
  },
  {
    name: "ninth-asks-read-outside",
    config: asks({ external_directory: "ask" }),
    script: steps([[call("read", { filePath: "/etc/hostname" })]]),
    label: rejected("a read outside is asked and auto-rejected"),
  },
  {
    name: "ninth-asks-read-outside-anthropic",
    api: "messages",
    config: asks({ external_directory: "ask" }),
    script: steps([[bash("echo inside")], [call("glob", { pattern: "*", path: "/var/log" })]]),
    label: rejected("a search outside is asked and auto-rejected, other adapter", { toolCalls: 2 }),
  },
  {
    name: "ninth-asks-shell-outside",
    config: asks({ external_directory: "ask" }),
    script: steps([[bash("cat /etc/shadow", { workdir: "/etc" })]]),
    label: rejected("a command outside is asked and auto-rejected"),
  },
  {
    name: "ninth-asks-write-outside",
    config: asks({ external_directory: "ask" }),
    script: steps([[call("write", { filePath: "/var/tmp/turnd-lab/out.txt", content: "x" })]]),
    label: rejected("a write outside is asked and auto-rejected"),
  },
  {
    name: "ninth-asks-write-beside-repository",
    config: asks({ external_directory: "ask" }),
    prepare: ({ workspace }) => void execFileSync("git", ["init", "-q", workspace]),
    script: steps([[call("write", { filePath: "../beside/new.txt", content: "x" })]]),
    label: rejected("a write beside the repository is asked and auto-rejected"),
  },
  {
    name: "ninth-asks-env-file",
    config: asks({ read: { "*": "allow", "*.env": "ask", "*.env.*": "ask" } }),
    prepare: ({ workspace }) => writeFileSync(join(workspace, ".env.production"), "A=1\n"),
    script: steps([[call("read", { filePath: ".env.production" })]]),
    label: rejected("a read of an environment file is asked and auto-rejected"),
  },
  {
    name: "ninth-asks-for-doom-loop",
    config: asks({ doom_loop: "ask" }),
    script: steps([Array.from({ length: 4 }, () => call("glob", { pattern: "*.lock" }))]),
    label: failed("permission_denied", "the guard against loops asks and is auto-rejected"),
  },
  // Signals.
  {
    name: "ninth-cancel-int-in-stream",
    script: () => say("A long answer begins", "stall"),
    stop: { asked: 1, signal: "SIGINT", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGINT in mid-stream" },
  },
  {
    name: "ninth-cancel-term-in-stream",
    api: "messages",
    script: () => say("A long answer begins", "stall"),
    stop: { asked: 1, signal: "SIGTERM", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGTERM in mid-stream" },
  },
  {
    name: "ninth-cancel-int-in-tool",
    script: busy,
    stop: { ...IN_TOOL, signal: "SIGINT", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGINT during a tool" },
  },
  {
    name: "ninth-cancel-term-in-tool",
    continues: "answered",
    script: busy,
    stop: { ...IN_TOOL, signal: "SIGTERM", endedBy: "cancel" },
    label: { status: "cancelled", resumed: true, why: "SIGTERM during a tool of a resumed session" },
  },
  {
    name: "ninth-cancel-kill-in-tool",
    logs: "none",
    script: steps([[bash("echo one")], [bash("touch started; sleep 40")]]),
    stop: { ...IN_TOOL, signal: "SIGKILL", endedBy: "cancel" },
    label: { status: "cancelled", toolCalls: 1, why: "SIGKILL during the second tool" },
  },
  {
    name: "ninth-cancel-at-start",
    logs: "none",
    stop: { afterMs: 300, signal: "SIGTERM", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGTERM during start-up" },
  },
  {
    name: "ninth-cancel-while-retrying",
    script: () => ({ type: "refusal", status: 503, code: "", message: "", body: "no healthy upstream" }),
    stop: { shows: /message="stream error"/g, times: 2, signal: "SIGINT", endedBy: "cancel" },
    label: { status: "cancelled", why: "SIGINT while the CLI repeats a 503 of Envoy" },
  },
  {
    name: "ninth-killed-in-stream",
    script: () => say("It begins", "stall"),
    stop: { asked: 1, signal: "SIGKILL", endedBy: null },
    label: failed("crashed", "SIGKILL from outside in mid-stream"),
  },
  {
    name: "ninth-killed-by-own-tool",
    script: steps([[bash("sleep 0.2; kill -9 $PPID; sleep 5")]]),
    label: failed("crashed", "a command kills the CLI"),
  },
  // Output.
  {
    name: "ninth-output-cut-by-pipe",
    isStdoutReadLate: true,
    script: () => say("All of the report. ".repeat(9_000)),
    label: failed("output_incomplete", "stdout is a slow pipe: the last line is cut, its end is lost", {
      unknownRecords: 1,
    }),
  },
  {
    name: "ninth-output-nobody-reads",
    isStdoutClosed: true,
    script: steps([[bash("echo for nobody")]]),
    label: failed("output_incomplete", "nobody reads stdout", { also: ["crashed"] }),
  },
];
