import { defined } from "../../../../../kit/defined.ts";
import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type { Outcome, OutputLine, RequestSign, TranslatedEvent } from "../../contract/translator.ts";
import type { Fact } from "../../contract/failures.ts";
import {
  LAST_WORDS,
  REJECTED_ASK,
  REQUEST_FAILED,
  START_UP,
  START_UP_OF_RESUME,
  toCauseFact,
  toRequestFact,
} from "../failures/facts.ts";
import { classify } from "../failures/failure.ts";
import { readLogLine, type LogLine, type TimedLogLine } from "../records/log-line.ts";
import { stripEscapes } from "../../contract/json-line.ts";
import { createOpenTools } from "./open-tools.ts";

/** What a line of stderr says of the session: a new one was made, or one goes on. */
export interface SessionSign {
  readonly sessionId: string;
  readonly isNew: boolean;
}

/** Reads CLI A's stderr: its log, the notices it prints for people, and what it says when it cannot start. */
export interface StderrReader {
  push(line: OutputLine): {
    readonly events: readonly TranslatedEvent[];
    readonly session?: SessionSign;
    readonly request?: RequestSign;
    /** The session whose summary the line asks the model for; only once however often it is asked again. */
    readonly summarised?: { readonly sessionId: string; readonly latestMs: number };
  };
  /**
   * What the failure table may look at.
   *
   * @param lastRecordMs - timestamp of the last record on stdout: what failed before it was got over, and with any
   * record at all the CLI did start; what it says of itself then counts only where it ended abnormally by itself
   */
  facts(lastRecordMs: number | undefined, outcome: Outcome): Fact[];
  /** What an `error` record means that says no more than where to look. */
  causeOf(ref: string): Fact | undefined;
  /** Asked permissions that were rejected. */
  rejections(): number;
  /** Answers that a session asked the model for, each counted once however often it was asked for again; 0 without a log. */
  answersAsked(sessionId: string | null): number;
  /** Whether a tool of the turn's session is at work. */
  hasOpenTool(ownSession: string | null): boolean;
}

/** The requests one agent of a session made for its present step. */
interface Requests {
  failures: number;
  /** Whether the failure of the latest request has been reported. */
  isReported: boolean;
  /** That failure, where the log does not say whether it is retried: the next request does. */
  unannounced?: Fact;
}

interface FailedRequest {
  readonly sessionId: string;
  readonly fact: Fact;
  readonly latestMs: number;
}

/** Enough for every start-up message with its stack; a CLI that talks without end costs no more. */
const MAX_FACTS = 200;
/** What a CLI prints when it crashes, its stack trace too. */
const MAX_LAST_WORDS = 50;
const MAX_FACT_CHARACTERS = 2_000;
/** The turn's own is the first; each subagent adds one. */
const MAX_SESSIONS = 1_000;
const ASKED = "! permission requested: ";
const REJECTED = "); auto-rejecting";
const FALLBACK = /^!\s+(agent ".*\. Falling back to default agent)$/;
/** A session's first step begins before it asks. */
const REQUESTS: Partial<Record<LogLine["kind"], RequestSign>> = { request: "asked", step: "answered" };
const COMPACTED = "The conversation fills the model's context: CLI A asks for a summary to go on with.";
const BROKE_OFF = "The provider's answer broke off before its end.";

/** Creates a reader for one process. */
export function createStderrReader(isResume: boolean): StderrReader {
  const startUp: Fact[] = [];
  const lastWords: Fact[] = [];
  const rejections: Fact[] = [];
  const causes = new Map<string, Fact>();
  const requests = new Map<string, Map<string, Requests>>();
  let brokenAnswer: { readonly message: string; readonly line: number; readonly latestMs: number } | undefined;
  let failed: FailedRequest | undefined;
  let rejectionCount = 0;
  const asked = new Map<string, number>();
  const tools = createOpenTools();

  function requestsOf(sessionId: string, agent: string): Requests | undefined {
    return requests.get(sessionId)?.get(agent);
  }

  function setRequests(sessionId: string, agent: string, state: Requests): void {
    const ofSession = requests.get(sessionId) ?? new Map<string, Requests>();
    requests.set(sessionId, ofSession.set(agent, state));
  }

  function readLog({ log, latestMs }: TimedLogLine, native: Native): TranslatedEvent[] {
    switch (log.kind) {
      case "step":
        requests.delete(log.sessionId);
        brokenAnswer = undefined;
        if (failed?.sessionId === log.sessionId) failed = undefined;
        return [];
      case "request":
        return startRequest(log, latestMs, native);
      case "request_failed":
        return failRequest(log, latestMs, native);
      case "cause":
        if (causes.size < MAX_FACTS) causes.set(log.ref, toCauseFact(log, native.line));
        return [];
      case "answer_failed":
        brokenAnswer = { message: log.message, line: native.line, latestMs };
        return [];
      case "fatal":
        keepStart(log.message, native.line);
        return [];
      case "session_created":
      case "tool":
      case "other":
        return [];
    }
  }

  /** A request made again within one step shows that the one before failed, even without a line about it. */
  function startRequest(log: LogLine & { kind: "request" }, latestMs: number, native: Native): TranslatedEvent[] {
    const before = requestsOf(log.sessionId, log.agent);
    const failures = before === undefined || before.isReported ? (before?.failures ?? 0) : before.failures + 1;
    setRequests(log.sessionId, log.agent, { failures, isReported: false });
    const broken = brokenAnswer;
    brokenAnswer = undefined;
    if (before === undefined) {
      if (asked.size < MAX_SESSIONS || asked.has(log.sessionId)) {
        asked.set(log.sessionId, (asked.get(log.sessionId) ?? 0) + 1);
      }
      return log.agent === "compaction" ? [compacted(native)] : [];
    }
    const { unannounced } = before;
    if (unannounced !== undefined) return [retry(failures, classify([unannounced]).code, unannounced.text, native)];
    if (before.isReported) return [];
    if (broken === undefined) return [retry(failures, "network_error", BROKE_OFF, native)];
    const { message, line } = broken;
    const fact = toRequestFact({ message }, line);
    failed = { sessionId: log.sessionId, fact, latestMs };
    return [retry(failures, classify([fact]).code, message, native)];
  }

  function failRequest(log: LogLine & { kind: "request_failed" }, latestMs: number, native: Native): TranslatedEvent[] {
    const failures = (requestsOf(log.sessionId, log.agent)?.failures ?? 0) + 1;
    const fact = toRequestFact(log.error, native.line);
    const { isRetryable } = log.error;
    setRequests(log.sessionId, log.agent, {
      failures,
      isReported: true,
      ...(isRetryable === undefined ? { unannounced: fact } : {}),
    });
    failed = { sessionId: log.sessionId, fact, latestMs };
    return isRetryable === true ? [retry(failures, classify([fact]).code, fact.text, native)] : [];
  }

  function readPlain(text: string, native: Native): TranslatedEvent[] {
    if (text.startsWith(ASKED)) return readRejection(text, native);
    const fallback = FALLBACK.exec(text)?.[1];
    if (fallback !== undefined) {
      return [{ ...warningEvent("agent_not_found", fallback), native }];
    }
    const { line } = native;
    keepStart(text, line);
    if (lastWords.length === MAX_LAST_WORDS) lastWords.shift();
    keep(lastWords, { name: LAST_WORDS, text, line });
    return [];
  }

  function keepStart(text: string, line: number): void {
    keep(startUp, { name: isResume ? START_UP_OF_RESUME : START_UP, text, line });
  }

  function readRejection(text: string, native: Native): TranslatedEvent[] {
    rejectionCount += 1;
    keep(rejections, { name: REJECTED_ASK, text, line: native.line });
    const words = text.slice(ASKED.length);
    const open = words.indexOf(" (");
    const permission = open < 0 ? words : words.slice(0, open);
    const rest = open < 0 ? "" : words.slice(open + 2);
    const patterns = (rest.endsWith(REJECTED) ? rest.slice(0, -REJECTED.length) : rest).split(", ");
    const data = { permission, ...(rest === "" ? {} : { patterns }), message: text.slice("! ".length) };
    return [{ type: "permission.denied", data, native }];
  }

  return {
    push(line) {
      const text = stripEscapes(line.text);
      const native: Native = { source: "stderr", line: line.number };
      const timed = readLogLine(text);
      if (timed === undefined) return { events: text.trim() === "" ? [] : readPlain(text, native) };
      const session = readSign(timed.log);
      const request = REQUESTS[timed.log.kind];
      tools.note(timed.log);
      const events = readLog(timed, native);
      return {
        events,
        ...(events.some(isCompaction) && "sessionId" in timed.log
          ? { summarised: { sessionId: timed.log.sessionId, latestMs: timed.latestMs } }
          : {}),
        ...defined({ session, request }),
      };
    },
    facts(lastRecordMs, { exit, wasStopped }) {
      const isCurrent = ({ latestMs }: Pick<FailedRequest, "latestMs">): boolean =>
        lastRecordMs === undefined || latestMs >= lastRecordMs;
      // The failed request says more than the line that follows it; an answer that breaks off has only that line.
      const broken = brokenAnswer && { ...brokenAnswer, fact: toRequestFact(brokenAnswer, brokenAnswer.line) };
      const last = [failed, broken].filter((failure) => failure !== undefined).find(isCurrent);
      const hasFailed = !wasStopped && (exit?.code ?? 0) !== 0;
      return [
        ...rejections,
        ...(lastRecordMs === undefined ? startUp : hasFailed ? lastWords : []),
        ...(last === undefined ? [] : [last.fact]),
      ];
    },
    causeOf: (ref) => causes.get(ref),
    rejections: () => rejectionCount,
    answersAsked: (sessionId) => (sessionId === null ? 0 : (asked.get(sessionId) ?? 0)),
    hasOpenTool: tools.hasOpen,
  };
}

function readSign(log: LogLine): SessionSign | undefined {
  // A subagent's session is not the turn's.
  if (log.kind === "session_created" && log.parent === undefined) return { sessionId: log.sessionId, isNew: true };
  return log.kind === "step" ? { sessionId: log.sessionId, isNew: false } : undefined;
}

function isCompaction(event: TranslatedEvent): boolean {
  return event.type === "warning" && event.data.code === "context_compacted";
}

function compacted(native: Native): TranslatedEvent {
  return { ...warningEvent("context_compacted", COMPACTED), native };
}

function retry(
  attempt: number,
  code: ReturnType<typeof classify>["code"],
  message: string,
  native: Native,
): TranslatedEvent {
  return { type: "retry", data: { attempt, code, message }, native: { ...native, type: REQUEST_FAILED } };
}

function keep(facts: Fact[], { name, text, line }: { name: string; text: string; line: number }): void {
  if (facts.length >= MAX_FACTS) return;
  facts.push({ on: "stderr", source: "stderr", line, name, text: text.slice(0, MAX_FACT_CHARACTERS) });
}
