import type { Conversation } from "../../src/scripted-model/conversation.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Ending, type Part, type Scenario } from "../../src/scripted-model/reply.ts";
import type { FailureCode } from "../../src/turnd/protocol/index.ts";

/** Where a recorded run has its things. Below one directory, which is gone afterwards. */
export interface Places {
  /** XDG directories, the CLI's own state. */
  readonly home: string;
  readonly workspace: string;
  /** `config.json` of the CLI. */
  readonly configFile: string;
}

type Bag = Record<string, unknown>;

/** The rendered configuration, as far as scenes change it. */
export interface SceneConfig extends Bag {
  provider: { lab: { npm: string; name: string; options: Bag; models: { m: Bag } } };
  permission: Record<string, string>;
}

/** The right reading of a run, from what is made to happen in it. */
export interface Label {
  readonly status: "completed" | "failed" | "cancelled";
  readonly code?: FailureCode;
  /** Other codes that are defensible. */
  readonly also?: readonly FailureCode[];
  /** The text of the last message that the CLI can have printed. */
  readonly finalText?: string;
  readonly toolCalls?: number;
  readonly unknownRecords?: number;
  /** Of a resume: whether the requested session goes on. */
  readonly resumed?: boolean;
  readonly why: string;
}

/** When the recorder ends a run, and how. */
export interface Stop {
  /** What has to stand on stdout or stderr, and how often. */
  readonly shows?: RegExp;
  readonly times?: number;
  /** A file of the workspace that has to be there. */
  readonly file?: string;
  /** How often the model was asked. */
  readonly asked?: number;
  /** A run that shows nothing at all is ended after so long. */
  readonly afterMs?: number;
  readonly signal: NodeJS.Signals;
  /** As whom: null stands for somebody outside. */
  readonly endedBy: "cancel" | "idle_timeout" | "turn_timeout" | null;
}

/** A run of CLI A whose end is known beforehand, because everything around the CLI is made for it. */
export interface Scene {
  readonly name: string;
  /** What the model does. Absent: it answers "Done." */
  readonly script?: Scenario;
  /** What a subagent's model does. */
  readonly child?: Scenario;
  /** A row of the table of answers, a stream or an act of `provider.ts` in place of a script. */
  readonly provider?: string;
  readonly api?: "chat" | "messages";
  /** Bytes on stdin; absent: words that start the script. */
  readonly prompt?: string | Buffer;
  /** Changes the rendered configuration. */
  readonly config?: (config: SceneConfig, places: Places) => void;
  readonly args?: readonly string[];
  /** `{binary}` in a value stands for the CLI. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the CLI logs on stderr; absent: what turnd has it log. */
  readonly logs?: "none" | "WARN" | "ERROR";
  /** Done just before the run, after the turn before it. */
  readonly prepare?: (places: Places) => void | Promise<void>;
  /** Undoes what outlives the directory. */
  readonly cleanUp?: (places: Places) => void;
  /** A turn before, whose session this one continues; it answers "Before." */
  readonly continues?: "answered" | "killed";
  /** The id given in place of that turn's. */
  readonly session?: string;
  readonly stop?: Stop;
  /** stdout is a pipe that nobody reads any more. */
  readonly isStdoutClosed?: boolean;
  /** stdout is a pipe that is read only once the CLI has gone. */
  readonly isStdoutReadLate?: boolean;
  /** stdin is a pipe on which nothing comes. */
  readonly isStdinOpen?: boolean;
  /** The work directory is removed once the process stands in it. */
  readonly isWorkspaceRemoved?: boolean;
  readonly label: Label;
}

/** Words that make the scripted model play a scene. */
export const marker = (name: string): string => `@@${name}@@ task`;
export const childOf = (name: string): string => `${name}-child`;

export const call = (name: string, input: Readonly<Record<string, unknown>>): Part => ({
  type: "tool_call",
  name,
  input,
});
export const bash = (command: string, more: Readonly<Record<string, unknown>> = {}): Part =>
  call("bash", { command, description: "Does as it is told", ...more });

/** Makes the calls of one answer after those of another, then says a text. */
export function steps(answers: readonly (readonly Part[])[], text = "Done.", ending: Ending = "stop"): Scenario {
  return (conversation: Conversation) => {
    const done = currentTurn(conversation).outcomes.length;
    let before = 0;
    for (const parts of answers) {
      if (done <= before) return { type: "answer", parts, ending: "stop" };
      before += parts.filter(({ type }) => type === "tool_call").length;
    }
    return say(text, ending);
  };
}

/** Plays one script for the first tries of a request, then another. */
export const thenAnswer =
  (first: Scenario, times: number, after: Scenario = () => say("Done.")): Scenario =>
  (conversation, cue) =>
    (cue.attempt <= times ? first : after)(conversation, cue);

/** An HTTP answer that is none. */
export const refusal =
  (status: number, error: unknown, headers: Readonly<Record<string, string>> = {}): Scenario =>
  () => ({
    type: "refusal",
    status,
    code: "",
    message: "",
    headers,
    body: typeof error === "string" ? error : JSON.stringify({ error }),
  });

export const completed = (why: string, finalText = "Done.", toolCalls = 0): Label => ({
  status: "completed",
  finalText,
  toolCalls,
  why,
});
export const failed = (code: FailureCode, why: string, more: Partial<Label> = {}): Label => ({
  status: "failed",
  code,
  why,
  ...more,
});
