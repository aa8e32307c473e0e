import type { Evidence, Native, Transport, TurnEvent, Usage } from "../../../protocol/index.ts";
import type { FailureDraft } from "./failures.ts";
import type { DriftWatch } from "./records.ts";

/** One line of the CLI's output. `text` has no newline; invalid UTF-8 is U+FFFD. */
export interface OutputLine {
  readonly source: "stdout" | "stderr";
  /** 1-based, counting every line of that file, blank ones too. */
  readonly number: number;
  readonly text: string;
  /** True when the line is longer than `TURND_MAX_LINE_BYTES` and `text` is only its head. */
  readonly isTruncated: boolean;
}

export interface TranslatorInput {
  /** The id a resume asked for, otherwise null. */
  readonly requestedSession: string | null;
  /** Version of the CLI that printed, when known. */
  readonly cliVersion?: string;
  /** What the native session had used before this turn; for CLIs that count over the whole session. Absent: unknown. */
  readonly usageBefore?: Usage;
  /** How the CLI was driven; absent: a process per turn. */
  readonly transport?: Transport;
  /** Of what a tool prints while it runs. */
  readonly maxToolOutputBytes?: number;
  /**
   * How many of a text's last characters may be the beginning of a secret: they are not shown before what follows them is
   * known. Absent: there are no secrets.
   */
  readonly holdBack?: (text: string) => number;
  /** Shown every record, for what the translation does not look at. */
  readonly drift?: DriftWatch;
}

/** An event and the line it comes from. */
export type TranslatedEvent = TurnEvent & {
  readonly native?: Native;
  /** Of a subagent: the call that it works for. */
  readonly parent_tool_call_id?: string;
};

/** What a CLI's log shows of a request to the model; a CLI that logs nothing of it gives none. */
export type RequestSign = "asked" | "answered";

export interface Translation {
  readonly events: readonly TranslatedEvent[];
  /** What the line shows of the latest request to the model. */
  readonly request?: RequestSign;
  /** A step has ended and no tool is open: a steered turn may be stopped here. */
  readonly isStepBoundary?: boolean;
  /** No tool that began before is at work any more: what the CLI has started since may be one. */
  readonly isToolFree?: boolean;
  /** With `isToolFree`: when the record was printed, in milliseconds; absent for a CLI whose records have no time. */
  readonly printedAt?: number;
  /** The process must not go on: another session than the requested one came back, or the CLI repeats itself without end. Becomes the failure. */
  readonly halt?: FailureDraft;
}

/**
 * Turns lines into events. State is local to one process. Never throws, whatever the line holds. Law: nothing printed
 * is dropped.
 */
export interface Translator {
  push(line: OutputLine): Translation;
  /**
   * How to get at what the process did and did not print; asked once all it printed is read.
   *
   * Absent for a CLI that prints all it does; undefined when nothing seems to be missing.
   */
  findLost?(outcome: Outcome): Recovery | undefined;
  /** What the process is doing, by what it has printed so far; absent for a CLI of which that is not known. */
  activity?(): Activity;
  /** Called once, after the last line of both files. */
  end(outcome: Outcome): Ending;
}

/** What a process that still runs is doing. */
export interface Activity {
  /** Its records prove that the turn is completed: nothing is missing but its exit. */
  readonly isComplete: boolean;
  /** A tool was started that has not ended. */
  readonly hasOpenTool: boolean;
}

export interface Outcome {
  /** How the process ended; null when it is not known (its keeper is gone). */
  readonly exit: { readonly code: number | null; readonly signal: string | null } | null;
  /** Whether turnd itself ended the process (cancel, watchdog, shutdown): then a signal or a missing end proves nothing. */
  readonly wasStopped: boolean;
}

/** A command of the CLI's own that prints what its store holds, and what stdout lacks of that. */
export interface Recovery {
  /** It changes nothing, asks no model, and runs where the turn's process ran, its stdout a file. */
  readonly args: readonly string[];
  /**
   * What is to be appended to `stdout.jsonl`, so that every reader, now and later, finds it there.
   *
   * @param stored - what the command printed
   * @param startedAtMs - milliseconds since 1970; nothing older belongs to the turn
   * @returns lines as the CLI would have printed them, after one that marks them; empty when the store holds no more
   */
  readLines(stored: string, startedAtMs: number): readonly string[];
}

/** What a process came to, only by what it left behind. `turns/` decides what follows from what turnd itself did. */
export interface Ending {
  /** What only the end shows, such as calls that never ended (`tool.ended`, `interrupted`). */
  readonly events: readonly TranslatedEvent[];
  /** Text of the last assistant message. */
  readonly output: string | null;
  readonly nativeSessionId: string | null;
  /** The requested id came back. */
  readonly isResumed: boolean;
  /** Of this turn, and of those before it in its native session that reported no total. */
  readonly usage?: Usage;
  readonly costUsd?: number;
  /** Why the native session does not hold what this turn did, as the CLI said: going on in it would leave that out. */
  readonly historyLost?: string;
  /** The last total that the native session has reported, for the next turn's `usageBefore`. */
  readonly usageAfter?: Usage;
  /** Absent: completed, as `proof` shows. Law: success is proved. */
  readonly failure?: FailureDraft;
  /** The positive evidence the contract names; there exactly when `failure` is not. */
  readonly proof?: Proof;
}

/** What proves that a process completed its turn. */
export interface Proof {
  readonly evidence: readonly Evidence[];
  /** The exit code that it needs beside it; 0 where absent. */
  readonly exitCode?: number;
  /** A recording in which it stands. */
  readonly seenIn: string;
}
