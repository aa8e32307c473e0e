import { warningEvent } from "../../../../protocol/index.ts";
import type { OutputLine, TranslatedEvent } from "../../contract/translator.ts";
import type { Fact } from "../../contract/failures.ts";
import type { HistoryWatch } from "./history.ts";
import { stripEscapes } from "../../contract/json-line.ts";

/** Reads CLI B's stderr: log lines, and what it says when it cannot start. */
export interface StderrReader {
  push(line: OutputLine): TranslatedEvent[];
  /** What the failure table may look at, oldest first. */
  facts(): Fact[];
}

/** Enough for every start-up message; a CLI that logs without end costs no more. */
const MAX_FACTS = 50;
const MAX_FACT_CHARACTERS = 2_000;

const LOG_LINE = /^\d{4}-\d\d-\d\dT\S+Z +(ERROR|WARN|INFO|DEBUG|TRACE) ([\w:]+): (.*)$/s;
const START_UP_ERROR =
  /^(?:error: |Error: |Error \w+ing |Failed to |Fatal error|No prompt provided|Not inside a trusted|Output schema file |thread '.*panicked at)/;
const FOLLOW_UP_NOISE = /^(?:Reading (?:additional input|prompt) from stdin|WARNING: proceeding)/;
const DENIED = [
  { permission: "edit", pattern: /patch rejected: / },
  { permission: "escalation", pattern: /approval policy is Never/ },
  { permission: "execute", pattern: /rejected: policy forbids|rejected: blocked by policy|Rejected\("/ },
] as const;

/** Creates a reader for one process. */
export function createStderrReader(history: HistoryWatch): StderrReader {
  const facts: Fact[] = [];
  let isInError = false;

  function keep(line: OutputLine, text: string): void {
    if (facts.length < MAX_FACTS) {
      facts.push({ on: "stderr", source: "stderr", line: line.number, text: text.slice(0, MAX_FACT_CHARACTERS) });
    }
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
    keep(line, message);
    return [...(history.read(message, native) ?? [])];
  }

  return {
    push(line) {
      const text = stripEscapes(line.text);
      const [, level, module, message] = LOG_LINE.exec(text) ?? [];
      if (level !== undefined && module !== undefined && message !== undefined) {
        isInError = false;
        return level === "ERROR" ? readLog(line, module, message) : [];
      }
      if (START_UP_ERROR.test(text)) {
        isInError = true;
        keep(line, text);
      } else if (FOLLOW_UP_NOISE.test(text)) {
        isInError = false;
      } else if (isInError) {
        extend(text);
      }
      return [];
    },
    facts: () => facts,
  };
}
