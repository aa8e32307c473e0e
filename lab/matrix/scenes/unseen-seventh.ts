import { currentTurn } from "../../../src/scripted-model/conversation.ts";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, completed, failed, refusal, steps, thenAnswer, type Scene } from "../scene.ts";

const afterTool =
  (then: NonNullable<Scene["script"]>): NonNullable<Scene["script"]> =>
  (conversation, cue) =>
    currentTurn(conversation).outcomes.length === 0
      ? { type: "answer", parts: [bash("echo tool-ok")], ending: "stop" }
      : then(conversation, cue);

/** A seventh hold-out: labelled on 2026-11-25 by what is done, before anything was run. */
export const SEVENTH_SCENES: readonly Scene[] = [
  {
    name: "seventh-model-withdrawn-mid-turn",
    script: afterTool(refusal(410, { message: "This model was switched off today." })),
    label: failed("model_not_found", "410 after a tool", { toolCalls: 1 }),
  },
  {
    name: "seventh-limit-twice",
    script: afterTool(() => say("A third of", "length")),
    label: failed("output_limit", "cut at the limit after a tool", { finalText: "A third of", toolCalls: 1 }),
  },
  {
    name: "seventh-forty-tools",
    script: steps([Array.from({ length: 10 }, (_, at) => bash(`echo ${at}`)), [bash("echo last")]]),
    label: completed("ten commands at once, then one more", "Done.", 11),
  },
  {
    name: "seventh-written-then-killed",
    script: steps([[call("write", { filePath: "a.txt", content: "a" })], [bash("touch started; sleep 30")]]),
    stop: { file: "started", signal: "SIGKILL", endedBy: null },
    label: failed("crashed", "SIGKILL from outside in the second tool", { toolCalls: 1 }),
  },
  {
    name: "seventh-written-then-cancelled",
    script: steps([[call("write", { filePath: "a.txt", content: "a" })], [bash("touch started; sleep 30")]]),
    stop: { file: "started", signal: "SIGINT", endedBy: "cancel" },
    label: { status: "cancelled", toolCalls: 1, why: "turnd cancels in the second tool" },
  },
  {
    name: "seventh-cut-then-refused",
    script: thenAnswer(() => say("This breaks", "cut"), 1, refusal(401, { message: "Session of the key ended." })),
    label: failed("auth_failed", "a cut, then 401"),
  },
  {
    name: "seventh-resume-model-gone",
    continues: "answered",
    script: refusal(404, { message: "The model `m` is gone." }),
    label: failed("model_not_found", "the session goes on, its model does not", { resumed: true }),
  },
  {
    name: "seventh-markdown-like-records",
    script: () => say('{"type":"error","error":{"name":"ContextOverflowError"}}\n{"type":"step_finish"}'),
    label: completed(
      "an answer that looks like records",
      '{"type":"error","error":{"name":"ContextOverflowError"}}\n{"type":"step_finish"}',
    ),
  },
];
