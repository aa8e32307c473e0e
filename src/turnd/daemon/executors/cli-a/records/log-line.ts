import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import { ResponseHeaders } from "./record.ts";

/** A failed request to the model, in the words of the library that made it. */
const ModelError = z.object({
  name: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  statusCode: z.int().optional().catch(undefined),
  responseBody: z.string().optional().catch(undefined),
  responseHeaders: ResponseHeaders,
  isRetryable: z.boolean().optional().catch(undefined),
  cause: z
    .object({ code: z.string().optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
export type ModelError = z.infer<typeof ModelError>;

/** An error as the log tells it. */
export interface Cause {
  readonly name: string | undefined;
  readonly message: string;
  /** The first function of its stack that has a name: some errors have no words of their own. */
  readonly raisedIn?: string;
}

/** One line of the CLI's own log, as far as it matters. */
export type LogLine =
  /** A session was created; `parent` is set for a subagent's. */
  | { readonly kind: "session_created"; readonly sessionId: string; readonly parent: string | undefined }
  /** A session goes on to its next step: what it tried before has worked. */
  | { readonly kind: "step"; readonly sessionId: string }
  /** The model has called a tool; which session's, is not logged. One that a rule asks a person for has nobody who answers. */
  | { readonly kind: "tool"; readonly isAskedFor: boolean }
  /** A request to the model begins. */
  | { readonly kind: "request"; readonly sessionId: string; readonly agent: string }
  | { readonly kind: "request_failed"; readonly sessionId: string; readonly agent: string; readonly error: ModelError }
  /** What an `error` record means that names it by this reference and says nothing itself. */
  | ({ readonly kind: "cause"; readonly ref: string } & Cause)
  /** What ended the process, where the CLI's own last words leave it out. */
  | { readonly kind: "fatal"; readonly message: string }
  /** An answer broke off. 1.3.2 does not say whose. */
  | { readonly kind: "answer_failed"; readonly message: string }
  | { readonly kind: "other" };

/** A log line and when it was written: the last millisecond that its printed second can mean. */
export interface TimedLogLine {
  readonly log: LogLine;
  readonly latestMs: number;
}

/** How later versions log: pairs only. Source: cli-a/1.18.33/text-answer. */
const PAIRS_HEAD = /^timestamp=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\S* level=[A-Z]+ run=\S+ message=/;
/** Linear: a quoted value ends at the first quote without a backslash before it. */
const PAIR = /(?:^| )([\w.]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))/g;
const HEAD = /^(?:DEBUG|INFO|WARN|ERROR) +(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d) \+\d+ms service=(\S+) /;
/** Keys stand first and are short; prompts and bodies of any length come after them. */
const MAX_KEYS_CHARACTERS = 4_000;
const OTHER: LogLine = { kind: "other" };

/** What a rule makes of a tool, in pairs or as JSON. It stands last: a tool's own words of any length come before it. */
const LAST_ACTION = /^.*(?: action\.action=|"action":")([a-z]+)/s;

/**
 * Reads a line that the CLI's logger wrote.
 *
 * 1.3.2 calls a session `sessionID`, 1.14.34 `session.id`, and later versions write pairs only. Linear in the length of the line: a failed request is logged
 * with its whole prompt.
 * @returns undefined for a line that is not the logger's
 * @see docs/contracts/cli-a.md §6.1
 */
export function readLogLine(text: string): TimedLogLine | undefined {
  const [pairsHead, pairsAt] = PAIRS_HEAD.exec(text) ?? [];
  if (pairsHead !== undefined) {
    const latestMs = Date.parse(`${pairsAt}Z`) + 999;
    if (text.startsWith("evaluated ", pairsHead.length)) return { log: readPermission(text), latestMs };
    const pairs = readPairs(text.slice(pairsHead.length - "message=".length, MAX_KEYS_CHARACTERS));
    return { log: interpretPairs(pairs), latestMs };
  }
  const [head, at, service] = HEAD.exec(text) ?? [];
  if (head === undefined || service === undefined) return undefined;
  return { log: interpret(service, text.slice(head.length)), latestMs: Date.parse(`${at}Z`) + 999 };
}

function readPairs(text: string): ReadonlyMap<string, string> {
  const pairs = [...text.matchAll(PAIR)].map(
    ([, key = "", quoted, plain = ""]) => [key, quoted === undefined ? plain : unescape(quoted)] as const,
  );
  // A key that comes twice is the model's or the provider's text, which stands after the logger's own.
  return new Map(pairs.toReversed());
}

/** What stands between quotation marks is written as JSON writes a text. */
function unescape(quoted: string): string {
  try {
    return z.string().parse(JSON.parse(`"${quoted}"`));
  } catch {
    return quoted;
  }
}

function interpretPairs(pairs: ReadonlyMap<string, string>): LogLine {
  const sessionId = readSessionWord(pairs.get("session.id"));
  const agent = pairs.get("agent");
  switch (pairs.get("message")) {
    case "created": {
      const created = readSessionWord(pairs.get("id"));
      return created === undefined
        ? OTHER
        : { kind: "session_created", sessionId: created, parent: readSessionWord(pairs.get("parentID")) };
    }
    case "loop":
      return sessionId === undefined ? OTHER : { kind: "step", sessionId };
    case "failed":
      return readCause(pairs);
    case "stream":
    case "stream error":
      if (sessionId === undefined || agent === undefined || isForTitle(agent, pairs.get("small"))) return OTHER;
      return pairs.get("message") === "stream"
        ? { kind: "request", sessionId, agent }
        : { kind: "request_failed", sessionId, agent, error: readPairsError(pairs) };
    default:
      return OTHER;
  }
}

/** `error` is "<name>: <words>". Source: cli-a/1.18.33/unknown-model. */
function readCause(pairs: ReadonlyMap<string, string>): LogLine {
  const [ref, error] = [pairs.get("ref"), pairs.get("error")];
  if (ref === undefined || error === undefined) return OTHER;
  const raisedIn = /\n +at ([A-Z][\w.]*) \(/.exec(pairs.get("cause") ?? "")?.[1];
  return { kind: "cause", ref, ...splitName(error), ...defined({ raisedIn }) };
}

/** An error as text: its name, a code of the runtime's perhaps, and its words. */
function splitName(whole: string): Pick<Cause, "name" | "message"> {
  const [, name, message = whole] = /^([\w/]+)(?: \[\w+\])?: (.*)$/s.exec(whole) ?? [];
  return { name, message };
}

/** `error.error` is "<name>: <words>", or the pairs of a body. No status is logged. */
function readPairsError(pairs: ReadonlyMap<string, string>): ModelError {
  const whole = pairs.get("error.error");
  if (whole !== undefined) return splitName(whole);
  const [type, code] = [pairs.get("error.error.type"), pairs.get("error.error.code")];
  return { responseBody: JSON.stringify({ message: pairs.get("error.error.message"), type, code }) };
}

function readSessionWord(word: string | undefined): string | undefined {
  return word !== undefined && /^ses_\w+$/.test(word) ? word : undefined;
}

/** A request for the session's title decides nothing. */
function isForTitle(agent: string, small: string | undefined): boolean {
  return agent === "title" || small === "true";
}

function interpret(service: string, rest: string): LogLine {
  const keys = rest.slice(0, MAX_KEYS_CHARACTERS);
  if (service === "session") return readCreated(keys, rest.endsWith(" created"));
  if (service === "session.processor") return readBrokenAnswer(keys);
  if (service === "llm") return readRequest(rest);
  if (service === "default" && rest.endsWith(" fatal")) return readFatal(keys);
  if (service === "permission" && rest.endsWith(" evaluated")) return readPermission(rest);
  if (service !== "session.prompt" || !keys.endsWith(" loop") || keys.includes(" exiting ")) return OTHER;
  const sessionId = readSessionId(keys);
  return sessionId === undefined ? OTHER : { kind: "step", sessionId };
}

function readCreated(keys: string, isCreated: boolean): LogLine {
  const sessionId = /^id=(ses_\w+) /.exec(keys)?.[1];
  if (sessionId === undefined || !isCreated) return OTHER;
  // The title comes after the parent, and a subagent's is the model's own text.
  const [own = ""] = keys.split(" title=", 1);
  return { kind: "session_created", sessionId, parent: / parentID=(ses_\w+)/.exec(own)?.[1] };
}

function readPermission(text: string): LogLine {
  return { kind: "tool", isAskedFor: LAST_ACTION.exec(text)?.[1] === "ask" };
}

/** The store's own error stands behind the statement that failed. */
function readFatal(keys: string): LogLine {
  const message = / cause=(SQLiteError: .{1,300}?)(?: stack=|$)/s.exec(keys)?.[1];
  return message === undefined ? OTHER : { kind: "fatal", message };
}

function readBrokenAnswer(keys: string): LogLine {
  const message = /(?:^| )error=(.*)/s.exec(keys)?.[1];
  if (message === undefined) return OTHER;
  const [sentence = message] = message.split(" stack=", 1);
  return { kind: "answer_failed", message: sentence.replace(/ process$/, "") };
}

function readRequest(rest: string): LogLine {
  const start = rest.indexOf(" error=");
  const keys = (start < 0 ? rest : rest.slice(0, start)).slice(0, MAX_KEYS_CHARACTERS);
  const sessionId = readSessionId(keys);
  const agent = /(?:^| )agent=(\S+)/.exec(keys)?.[1];
  // A request for the session's title decides nothing.
  if (sessionId === undefined || agent === undefined || agent === "title" || keys.includes(" small=true")) return OTHER;
  if (start < 0) return rest.endsWith(" stream") ? { kind: "request", sessionId, agent } : OTHER;
  return { kind: "request_failed", sessionId, agent, error: readModelError(rest.slice(start + " error=".length)) };
}

function readSessionId(keys: string): string | undefined {
  return /(?:^| )session(?:ID|\.id)=(ses_\w+)/.exec(keys)?.[1];
}

/** An error without a name is what the provider reported inside its answer: a body, or only a sentence. */
function readModelError(logged: string): ModelError {
  try {
    const value: unknown = JSON.parse(logged.slice(0, logged.lastIndexOf("}") + 1));
    const error = z.object({ error: z.unknown() }).safeParse(value).data?.error;
    if (typeof error === "string") return { message: error };
    const read = ModelError.catch({}).parse(error);
    const isBody = read.name === undefined && read.statusCode === undefined && error !== undefined;
    return isBody ? { ...read, message: undefined, responseBody: JSON.stringify(error) } : read;
  } catch {
    // A line that was cut has no error to read; that a request failed is known all the same.
    return {};
  }
}
