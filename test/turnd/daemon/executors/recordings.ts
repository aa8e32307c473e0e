import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type {
  Ending,
  OutputLine,
  TranslatedEvent,
} from "../../../../src/turnd/daemon/executors/contract/translator.ts";
import type { Executor } from "../../../../src/turnd/daemon/executors/contract/executor.ts";
import type { Usage } from "../../../../src/turnd/protocol/index.ts";

export interface Expected {
  readonly status: "completed" | "failed" | "cancelled";
  readonly code: string | null;
  readonly also: readonly string[];
  readonly native_session_id: string | null;
  readonly resumed: boolean | null;
  readonly final_text: string | null;
  readonly tool_calls: number;
  readonly usage: Readonly<Record<string, number>> | null;
  readonly unknown_records: number;
}

export interface Recording {
  readonly name: string;
  readonly directory: string;
  readonly turn: {
    executor: "cli-a" | "cli-b";
    cli_version: string;
    /** Absent: a process for the turn. */
    transport?: "interactive";
    requested_session: string | null;
    ended_by: string | null;
  };
  readonly exit: { code: number | null; signal: string | null } | null;
  readonly expected: Expected;
}

/** Every recording below `<root>/<executor>/<version>/<case>`. */
export function listRecordings(root: string, executor: string): Recording[] {
  const base = join(root, executor);
  if (!existsSync(base)) return [];
  return readdirSync(base).flatMap((version) =>
    readdirSync(join(base, version)).map((name) => {
      const directory = join(base, version, name);
      const read = (file: string): unknown => JSON.parse(readFileSync(join(directory, file), "utf8"));
      return {
        name: `${executor}/${version}/${name}`,
        directory,
        turn: read("turn.json") as Recording["turn"],
        // A server goes on after its turn.
        exit: existsSync(join(directory, "exit.json")) ? (read("exit.json") as Recording["exit"]) : null,
        expected: read("expected.json") as Expected,
      };
    }),
  );
}

/**
 * The first of all that a CLI ends alike, with the same files and fields: for what carries recordings, and does not read
 * what a provider or a tool has said in them, nor which version has said it.
 */
export function oneOfEachEnd(recordings: readonly Recording[]): Recording[] {
  const ends = Map.groupBy(recordings, ({ directory, turn, exit, expected: { status, code } }) => {
    const printed = ["stdout.jsonl", "stderr.log"].map((file) => statSync(join(directory, file)).size > 0);
    return JSON.stringify([turn.executor, Object.keys(turn), turn.ended_by, exit, status, code, printed]);
  });
  return [...ends.values()].flatMap(([first]) => first ?? []);
}

/** Lines of a file, split on newline bytes alone; a missing final newline makes no difference. */
export function readLines(path: string, source: OutputLine["source"]): OutputLine[] {
  const parts = readFileSync(path).toString("utf8").split("\n");
  if (parts.at(-1) === "") parts.pop();
  return parts.map((text, index) => ({ source, number: index + 1, text, isTruncated: false }));
}

/** Plays a recording through the executor's translator alone: stdout, then stderr, then the end. */
export function play(
  executor: Executor,
  recording: Recording,
  usageBefore?: Usage,
): { events: TranslatedEvent[]; ending: Ending; halts: number } {
  const translator = executor.createTranslator({
    requestedSession: recording.turn.requested_session,
    cliVersion: recording.turn.cli_version,
    ...(recording.turn.transport === undefined ? {} : { transport: recording.turn.transport }),
    ...(usageBefore === undefined ? {} : { usageBefore }),
  });
  const events: TranslatedEvent[] = [];
  let halts = 0;
  for (const line of [
    ...readLines(join(recording.directory, "stdout.jsonl"), "stdout"),
    ...readLines(join(recording.directory, "stderr.log"), "stderr"),
  ]) {
    const translation = translator.push(line);
    events.push(...translation.events);
    if (translation.halt !== undefined) halts += 1;
  }
  const ending = translator.end({ exit: recording.exit, wasStopped: recording.turn.ended_by !== null });
  return { events: [...events, ...ending.events], ending, halts };
}
