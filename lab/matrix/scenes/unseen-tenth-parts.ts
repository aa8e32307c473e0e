import { currentTurn } from "../../../src/scripted-model/conversation.ts";
import { say, type Part, type Scenario } from "../../../src/scripted-model/reply.ts";
import { completed, type Label, type Scene, type SceneConfig, type Stop } from "../scene.ts";

/** What scenes of the tenth set share. They are labelled by one who had read no rule, and before any was played. */
export const SAID = "All is well.";
export const fine = (why: string, toolCalls = 0, more: Partial<Label> = {}): Label => ({
  ...completed(why, SAID, toolCalls),
  ...more,
});

/** Calls, then the usual words. */
export const acts =
  (answers: readonly (readonly Part[])[], text = SAID): Scenario =>
  (conversation) => {
    const done = currentTurn(conversation).outcomes.length;
    let before = 0;
    for (const parts of answers) {
      if (done <= before) return { type: "answer", parts, ending: "stop" };
      before += parts.filter(({ type }) => type === "tool_call").length;
    }
    return say(text);
  };
/** Calls of one answer, then what a scenario does. */
export const after =
  (parts: readonly Part[], then: Scenario): Scenario =>
  (conversation, cue) =>
    currentTurn(conversation).outcomes.length === 0
      ? { type: "answer", parts, ending: "stop" }
      : then(conversation, cue);
export const says: Scenario = () => say(SAID);

export const allow =
  (more: Readonly<Record<string, unknown>>) =>
  (config: SceneConfig): void =>
    void Object.assign(config, { permission: { "*": "allow", ...more } });
/** The CLI's own defaults: files outside, a doom loop and `.env` are asked about. */
export const defaults = (config: SceneConfig): void => void Object.assign(config, { permission: {} });
export const options =
  (more: Readonly<Record<string, unknown>>) =>
  ({ provider }: SceneConfig): void =>
    void Object.assign(provider.lab.options, more);
/** Another model than `m`. */
export const model =
  (id: string, more: Readonly<Record<string, unknown>> = {}) =>
  (config: SceneConfig): void => {
    Object.assign(config.provider.lab.models, { [id]: more });
    Object.assign(config, { model: `lab/${id}`, small_model: `lab/${id}` });
  };

/** Two failed requests say what there is to say; the six of 1.18.33 take more than a minute. */
export const TWO_FAILURES: Stop = {
  shows: /message="stream error"/g,
  times: 2,
  signal: "SIGKILL",
  endedBy: "idle_timeout",
};
export const IN_TOOL = { file: "busy" } as const;

export const named = (scenes: readonly Scene[]): readonly Scene[] =>
  scenes.map((scene) => ({ ...scene, name: `tenth-${scene.name}` }));
