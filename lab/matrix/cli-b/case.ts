import type { FailureCode, Mode } from "../../../src/turnd/protocol/index.ts";
import type { Reply } from "./replies.ts";

/** Where a case runs. */
export interface Place {
  /** The session's home; the CLI's own is `codex` in it. */
  readonly home: string;
  readonly codexHome: string;
  readonly workspace: string;
  readonly modelUrl: string;
  readonly binary: string;
  /** Runs a command as the CLI's user would find it, to its end. */
  shell(command: string): void;
}

/** What a case is, by its scenario: written before anything is run, never taken from what turnd says of it. */
export interface Label {
  readonly status: "completed" | "failed" | "cancelled";
  readonly code?: FailureCode;
  readonly also?: readonly FailureCode[];
  /** Text of the last message of the model; absent: none. */
  readonly text?: string;
  /** Distinct tool calls that are printed. */
  readonly tools?: number;
  readonly resumed?: boolean;
  readonly why: string;
}

/** A run of CLI B, and what it is. */
export interface CliBCase {
  readonly name: string;
  readonly label: Label;
  /** What the provider does, request by request; the last is repeated. */
  readonly replies: readonly Reply[];
  /** Turns of the same session before it, each with its own replies. */
  readonly earlier?: readonly (readonly Reply[])[];
  /** Id to resume; `earlier`: that of the turn before. */
  readonly resume?: string;
  readonly mode?: Mode;
  readonly prompt?: string | Buffer;
  /** Laid over the variables that turnd is configured by; `{url}` is the provider's. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Laid over the CLI's environment; an empty value takes a variable away. */
  readonly env?: Readonly<Record<string, string>>;
  readonly outputSchema?: string;
  /** Changes the place once everything is written, before the CLI starts. */
  readonly prepare?: (place: Place) => void;
  /** Runs before the turns before it. */
  readonly prepareHome?: (place: Place) => void;
  /** Runs before each of the turns before it. */
  readonly beforeTurn?: readonly ((place: Place) => void)[];
  /** Ends each of the turns before it. */
  readonly earlierStop?: Stop;
  /** A command that the CLI is started by. */
  readonly within?: readonly string[];
  /** The id is where the thread begins, not one to go on in. */
  readonly isFork?: true;
  /** Runs a second process on the session while the case runs. */
  readonly hasRival?: true;
  readonly args?: (args: readonly string[], place: Place) => readonly string[];
  /** A signal, once stdout shows this. */
  readonly stop?: Stop;
}

export interface Stop {
  readonly when: RegExp;
  readonly signals: readonly NodeJS.Signals[];
  /** What turnd did it for; null: something outside. */
  readonly by: "cancel" | "idle_timeout" | null;
}

/** A file as `CLI_B_CONFIG_TOML` takes it. */
export function wholeFile(more = "", provider = ""): string {
  return `model = "m1"
model_provider = "mine"
sandbox_mode = "danger-full-access"
${more.startsWith("[") ? "" : more}
[model_providers.mine]
name = "mine"
base_url = "{url}"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = 2000
${provider}
${more.startsWith("[") ? more : ""}
`;
}
