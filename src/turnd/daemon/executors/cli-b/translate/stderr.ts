import { warningEvent } from "../../../../protocol/index.ts";
import type { OutputLine, TranslatedEvent } from "../../contract/translator.ts";
import type { Fact } from "../../contract/failures.ts";
import type { HistoryWatch } from "./history.ts";
import { stripEscapes } from "../../contract/json-line.ts";
import { LAST_LOGGED, LOGGED, START_UP, LATER } from "../failures/facts.ts";
import { readLogLine } from "../records/log-line.ts";

/** Reads CLI B's stderr: log lines, and what it says when it cannot start. */
export interface StderrReader {
  push(line: OutputLine): TranslatedEvent[];
  /**
   * What the failure table may look at, oldest first.
   *
   * @param hasStarted - whether the CLI printed a record: then it got over whatever it had said of its start
   */
  facts(hasStarted: boolean): Fact[];
}

/** Enough for every start-up message; a CLI that logs without end costs no more. */
const MAX_FACTS = 50;
const MAX_FACT_CHARACTERS = 2_000;

const START_UP_ERROR =
  /^(?:error: |Error: |Error \w+ing |Failed to |Fatal error|No prompt provided|Not inside a trusted|Output schema file |thread '.*panicked at)/;
/** What it says of itself once it has started. */
const LATER_ERROR = /^(?:Error: turn\/start: |thread '.*panicked at)/;
const FOLLOW_UP_NOISE = /^(?:Reading (?:additional input|prompt) from stdin|WARNING: proceeding)/;
const DENIED = [
  { permission: "edit", pattern: /patch rejected: / },
  { permission: "escalation", pattern: /approval policy is Never/ },
  { permission: "execute", pattern: /rejected: policy forbids|rejected: blocked by policy|Rejected\(\\*"/ },
] as const;

/** Creates a reader for one process. */
export function createStderrReader(history: HistoryWatch): StderrReader {
  const facts: Fact[] = [];
  let lastLogged: Fact | undefined;
  let isInError = false;
  // What a tool printed may be part of a line that is logged below ERROR, as with RUST_LOG, and go on over several.
  let isInQuietLog = false;

  function keep(line: OutputLine, text: string, name: string): void {
    if (facts.length < MAX_FACTS) facts.push(toFact(line, text, name));
  }

  /** The start-up messages of CLI B go over several lines; the cause may stand in any of them. */
  function extend(text: string): void {
    const last = facts.at(-1);
    if (last === undefined || last.text.length > MAX_FACT_CHARACTERS) return;
    facts[facts.length - 1] = { ...last, text: `${last.text}\n${text}`.slice(0, MAX_FACT_CHARACTERS) };
  }

  function readLog(line: OutputLine, module: string, message: string): TranslatedEvent[] {
    const native = { source: "stderr", line: line.number, type: `ERROR ${module}` } as const;
    if (module.endsWith("::tools::router") && message.startsWith("error=")) {
      const reason = message.slice("error=".length);
      const denial = DENIED.find(({ pattern }) => pattern.test(reason));
      if (denial === undefined) {
        return [{ ...warningEvent("tool_call_rejected", reason), native }];
      }
      return [{ type: "permission.denied", data: { permission: denial.permission, message: reason }, native }];
    }
    keep(line, message, LOGGED);
    lastLogged = toFact(line, message, LAST_LOGGED);
    return [...(history.read(message, native) ?? [])];
  }

  function readPlain(line: OutputLine, text: string): void {
    if (START_UP_ERROR.test(text)) {
      isInError = true;
      keep(line, text, !isInQuietLog && LATER_ERROR.test(text) ? LATER : START_UP);
    } else if (FOLLOW_UP_NOISE.test(text)) {
      isInError = false;
    } else if (isInError) {
      extend(text);
    }
  }

  return {
    push(line) {
      const text = stripEscapes(line.text);
      const logged = readLogLine(text);
      if (logged === undefined) {
        readPlain(line, text);
        return [];
      }
      isInError = false;
      isInQuietLog = logged.level !== "ERROR";
      if (isInQuietLog) return [];
      return readLog(line, logged.module, logged.message);
    },
    facts(hasStarted) {
      const counting = hasStarted
        ? facts.filter(({ name }) => name !== START_UP)
        : facts.map((fact) => ({ ...fact, name: START_UP }));
      return lastLogged === undefined ? counting : [...counting, lastLogged];
    },
  };
}

function toFact({ number }: OutputLine, text: string, name: string): Fact {
  return { on: "stderr", source: "stderr", line: number, name, text: text.slice(0, MAX_FACT_CHARACTERS) };
}
