import type { FailureCode, Mode } from "../../src/turnd/protocol/index.ts";
import type { Reply } from "./reply.ts";

type Bag = Readonly<Record<string, unknown>>;

/** What a run has to show, or to have done, before the recorder ends it. */
export interface Moment {
  /** On stdout or stderr, so often. */
  readonly shows?: RegExp;
  readonly times?: number;
  /** A file of the workspace that is there. */
  readonly file?: string;
  /** How often the provider was asked. */
  readonly asked?: number;
  readonly afterMs?: number;
}

/** When the recorder ends a run, and how. */
export interface Stop {
  /** Any of them. */
  readonly when: Moment | readonly Moment[];
  /** One after the other, until it is gone. */
  readonly signals: readonly NodeJS.Signals[];
  /** What turnd did it for; null: something outside. */
  readonly by: "cancel" | "idle_timeout" | "turn_timeout" | null;
}

/** The paths of a run, as its arguments may name them. */
export interface Place {
  readonly home: string;
  readonly workspace: string;
  readonly modelUrl: string;
}

/**
 * A run of a CLI whose end is known beforehand, because everything around the CLI is made for it. How it ends is written by
 * what is done, never taken from what turnd says of it.
 */
export interface Scene {
  readonly name: string;
  readonly why: string;
  /** Absent: a person has to judge. */
  readonly status?: "completed" | "failed" | "cancelled";
  readonly code?: FailureCode;
  /** Other codes that are defensible. */
  readonly also?: readonly FailureCode[];
  /** The last message that is printed; absent: of a completed turn what the model said last, otherwise none. */
  readonly text?: string | null;
  /** Distinct tool calls that are printed; absent: those of the replies, unless the run is stopped. */
  readonly tools?: number;
  readonly unknownRecords?: number;
  readonly resumed?: boolean;
  /** Absent: both CLIs. */
  readonly only?: CliId;
  /** What is otherwise with one of them. */
  readonly cliA?: Partial<Scene>;
  readonly cliB?: Partial<Scene>;

  /** What the provider does, request by request; the last is repeated. */
  readonly replies: readonly Reply[];
  /** The same for a subagent, whose prompt is `CHILD`. */
  readonly child?: readonly Reply[];
  /**
   * Stands for the provider; `{url}` is its address, `{host}` its host and port, `{tls}` the address
   * of one whose certificate nobody has signed.
   */
  readonly baseUrl?: string;
  /** Ordinary turns of the same session before it, each with its own replies. */
  readonly earlier?: readonly (readonly Reply[])[];
  /** Ends each of the turns before it. */
  readonly earlierStop?: Stop;
  /** A script before each of the turns before it. */
  readonly beforeEarlier?: readonly string[];
  /** Id to resume; `earlier`: that of the turn before. */
  readonly resume?: string;
  readonly prompt?: string | Buffer;
  readonly mode?: Mode;
  /** What the CLI is started with in place of its usual arguments. */
  readonly args?: (args: readonly string[], place: Place) => readonly string[];
  /** Laid over the CLI's environment; an empty value takes a variable away, `{binary}` is the CLI. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * A shell script just before the run, by the CLIs' user. `$home`, `$workspace`, `$store` (the CLI's own state) and
   * `$config` are paths.
   */
  readonly prepare?: string;
  /** The same by root, after it. */
  readonly prepareAsRoot?: string;
  /** Mounts a file system of its own, with these options, for the CLI's state before everything. */
  readonly disk?: string;
  /** A command that the CLI is started by. */
  readonly within?: readonly string[];
  readonly stop?: Stop;
  /** `closed`: a pipe that nobody reads; `late`: one that is read once the CLI is gone. */
  readonly stdout?: "closed" | "late";
  /** A pipe on which nothing comes. */
  readonly stdin?: "open";

  /** CLI A: the API that it speaks to its provider. */
  readonly api?: "chat" | "messages" | "responses";
  /** CLI A: laid over its configuration, member by member; null takes one away. */
  readonly config?: Bag | ((place: Place) => Bag);
  /** CLI A: what it logs; absent: what turnd has it log. */
  readonly logs?: "none" | "WARN" | "ERROR";
  /** CLI B: laid over the variables that turnd is configured by. */
  readonly variables?: Readonly<Record<string, string>>;
  /** CLI B: a whole configuration in place of those. */
  readonly toml?: string;
  readonly outputSchema?: string;
  /** CLI B: the id is where the thread begins, not one to go on in. */
  readonly isFork?: true;
  /** CLI B: a second process has the session while the scene plays. */
  readonly hasRival?: true;
}

export type CliId = "cli-a" | "cli-b";

/** The prompt of a subagent. */
export const CHILD = "Do your part of the task.";

type More = Omit<Partial<Scene>, "name" | "why" | "replies">;
type Replies = Reply | readonly Reply[];

/** A turn that comes to its end. */
export const works = (name: string, why: string, replies: Replies, more: More = {}): Scene => ({
  name,
  why,
  status: "completed",
  replies: [replies].flat(),
  ...more,
});

/** A turn that fails. */
export const fails = (name: string, code: FailureCode, why: string, replies: Replies, more: More = {}): Scene => ({
  name,
  why,
  status: "failed",
  code,
  replies: [replies].flat(),
  ...more,
});

/** A turn that turnd ends for its caller. */
export const cancelled = (name: string, why: string, replies: Replies, more: More): Scene => ({
  name,
  why,
  status: "cancelled",
  replies: [replies].flat(),
  ...more,
});

/** Scenes that only one CLI can play. */
export const only = (cli: CliId, ...scenes: readonly Scene[]): Scene[] =>
  scenes.map((scene) => ({ ...scene, only: cli }));

/** The scenes of one CLI, as they are with it. */
export function scenesOf(cli: CliId, scenes: readonly Scene[]): Scene[] {
  return scenes
    .filter((scene) => scene.only === undefined || scene.only === cli)
    .map(({ cliA, cliB, ...scene }) => ({ ...scene, ...(cli === "cli-a" ? cliA : cliB) }));
}

/** What a label leaves to be read from what is played. */
export function expectedOutput(scene: Scene): { readonly text: string | null; readonly tools: number } {
  const pieces = scene.replies.flatMap((reply) => (reply.do === "answer" ? reply.pieces : []));
  const said = scene.status === "completed" ? pieces.findLast(({ type }) => type === "text") : undefined;
  const text = said?.type === "text" && said.text !== "" ? said.text : null;
  const tools = scene.stop === undefined ? pieces.filter(({ type }) => type === "run" || type === "call").length : 0;
  return { text: scene.text === undefined ? text : scene.text, tools: scene.tools ?? tools };
}
