import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { currentTurn } from "../../../src/scripted-model/conversation.ts";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, completed, failed, marker, refusal, steps, thenAnswer, type Scene } from "../scene.ts";

const task = (name: string): ReturnType<typeof call> =>
  call("task", { description: "Look", prompt: marker(`${name}-child`), subagent_type: "general" });
const IN_STREAM = [
  ["window", "chat", "context_overflow"],
  ["key-limit", "chat", "quota_exceeded"],
  ["region", "chat", "model_not_found"],
  ["policy", "chat", "content_blocked"],
  ["size", "messages", "context_overflow"],
  ["suspended", "messages", "auth_failed"],
] as const;

/** A sixth hold-out: labelled on 2026-11-25 by what is done, before anything was run. */
export const SIXTH_SCENES: readonly Scene[] = [
  {
    name: "sixth-cancel-in-subagent",
    script: steps([[task("sixth-cancel-in-subagent")]]),
    child: () => ({ type: "hang" }),
    stop: { asked: 2, signal: "SIGKILL", endedBy: "cancel" },
    label: { status: "cancelled", why: "turnd cancels while a subagent waits for its model" },
  },
  {
    name: "sixth-killed-in-subagent",
    script: steps([[task("sixth-killed-in-subagent")]]),
    child: () => ({ type: "hang" }),
    stop: { asked: 2, signal: "SIGKILL", endedBy: null },
    label: failed("crashed", "SIGKILL from outside while a subagent waits for its model"),
  },
  {
    name: "sixth-idle-in-answer",
    script: () => say("Half an", "stall"),
    stop: { shows: /step_start/g, times: 1, signal: "SIGTERM", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "an answer that stops in its middle, the watchdog ends it"),
  },
  {
    name: "sixth-subagent-at-its-limit",
    script: steps([[task("sixth-subagent-at-its-limit")]]),
    child: () => say("Half an", "length"),
    label: completed("a subagent's answer is cut at the limit, and the parent goes on", "Done.", 1),
  },
  {
    name: "sixth-no-money-after-errors",
    script: thenAnswer(
      refusal(503, { message: "Restarting." }),
      1,
      refusal(402, { message: "Nothing left to pay with." }),
    ),
    label: failed("quota_exceeded", "unavailable once, then 402"),
  },
  {
    name: "sixth-plan",
    args: ["--agent=plan"],
    script: steps([[bash("ls")]]),
    label: completed("a plan, with a command", "Done.", 1),
  },
  {
    name: "sixth-large-file",
    script: steps([[call("write", { filePath: "large.txt", content: "line\n".repeat(50_000) })]]),
    label: completed("a file of a quarter of a megabyte is written", "Done.", 1),
  },
  {
    name: "sixth-binary-file",
    prepare: ({ workspace }) => writeFileSync(join(workspace, "data.bin"), Buffer.from([0, 255, 254, 0, 1, 2, 3, 0])),
    script: (conversation) =>
      currentTurn(conversation).outcomes.length === 0
        ? { type: "answer", parts: [call("read", { filePath: "data.bin" })], ending: "stop" }
        : say("Done."),
    label: completed("a file that is no text is read", "Done.", 1),
  },
  {
    name: "sixth-silent-command",
    script: steps([[bash("true")], [bash("false")]]),
    label: completed("two commands that print nothing", "Done.", 2),
  },
  {
    name: "sixth-model-flag",
    args: ["--model=lab/none"],
    label: failed("model_not_found", "a model that the configuration does not have"),
  },
  {
    name: "sixth-provider-flag",
    args: ["--model=nobody/m"],
    label: failed("model_not_found", "a provider that the configuration does not have", { also: ["config_invalid"] }),
  },
  {
    name: "sixth-resume-and-tool",
    continues: "answered",
    script: steps([[bash("echo again")]]),
    label: { ...completed("a second turn, with a tool", "Done.", 1), resumed: true },
  },
  {
    name: "sixth-resume-and-cancel",
    continues: "answered",
    script: () => ({ type: "hang" }),
    stop: { asked: 1, signal: "SIGTERM", endedBy: "cancel" },
    label: { status: "cancelled", why: "turnd cancels the second turn before its answer", resumed: true },
  },
  {
    name: "sixth-session-id-of-another-kind",
    session: "01a1fd1a-5463-7e72-9eca-765c0aaffeed",
    label: failed("resume_degraded", "the id of another CLI's session"),
  },
  ...IN_STREAM.map(([name, api, code]): Scene => ({
    name: `sixth-in-stream-${name}`,
    provider: `${api}-sixth-${name}`,
    api,
    label: failed(code, `${code} inside a stream`),
  })),
];
