import { defined } from "../../../../../kit/defined.ts";
import { readAnswerBody, type AnswerBody } from "../../providers/answer-body.ts";
import type { Fact } from "../../contract/failures.ts";
import type { Cause, ModelError } from "../records/log-line.ts";
import type { CliAError } from "../records/record.ts";

/** Names of facts that are no error record: rules ask for them. */
export const FINISH = "step_finish";
export const FINISH_EMPTY = "step_finish without content";
export const REJECTED_TOOL = "auto-rejected tool";
export const USAGE_TEXT = "usage text";
export const REJECTED_ASK = "auto-rejected permission";
export const REQUEST_FAILED = "failed request";
export const ERROR_IN_STREAM = "error inside the answer";
export const START_UP = "start-up message";
export const START_UP_OF_RESUME = "start-up message of a resume";
export const LAST_WORDS = "last words";
export const AFTER_COMPLETION = "after the last step";
export const WITHOUT_COMPLETION = "without a last step";

/**
 * What 1.18.33 logs in place of a sentence where the body has none that it understands: the status, in HTTP's own words.
 * Source: cli-a/1.18.33/rate-limited-without-words-until-killed.
 */
const STATUS_WORDS: ReadonlyMap<string, number> = new Map([
  ["Bad Request", 400],
  ["Unauthorized", 401],
  ["Payment Required", 402],
  ["Forbidden", 403],
  ["Not Found", 404],
  ["Request Timeout", 408],
  ["Conflict", 409],
  ["Payload Too Large", 413],
  ["Too Many Requests", 429],
  ["Internal Server Error", 500],
  ["Bad Gateway", 502],
  ["Service Unavailable", 503],
  ["Gateway Timeout", 504],
]);

const MAX_BODY_CHARACTERS = 300;
const MAX_CAUSE_CHARACTERS = 2_000;

/** An `error` record as something rules can look at. What the provider said inside its answer is the whole message. */
export function toErrorFact({ name, data }: CliAError, line: number): Fact {
  const at = { on: "record", source: "stdout", line } as const;
  const { message, statusCode, metadata } = data;
  const isBody = statusCode === undefined && /^["{]/.test(message);
  const inStream = isBody ? readAnswerBody(message) : undefined;
  if (inStream === undefined) {
    const reason = metadata?.code === undefined || message.includes(metadata.code) ? [] : [metadata.code];
    return { ...at, name, ...describeFact([message === "" ? name : message, ...reason], statusCode, data) };
  }
  const { sentence = message, codes, status } = inStream;
  return {
    ...at,
    name: ERROR_IN_STREAM,
    text: sentence,
    words: message,
    ...defined({ status, code: codes }),
  };
}

/** The cause that the log gives for an `error` record: rules read it in the record's place. */
export function toCauseFact({ name, message, raisedIn }: Cause, line: number): Fact {
  return {
    on: "record",
    source: "stderr",
    line,
    text: message.slice(0, MAX_CAUSE_CHARACTERS),
    ...defined({ name, code: raisedIn }),
  };
}

/** A failed request of the log, under the name of its own so that no rule for plain text is tried on it. */
export function toRequestFact(error: ModelError, line: number): Fact {
  const reason = error.cause?.code ?? error.code;
  const words = [error.name, error.statusCode?.toString(), error.message, reason].filter((part) => part !== undefined);
  const fact = { on: "stderr", source: "stderr", line, name: REQUEST_FAILED } as const;
  const status = error.statusCode ?? STATUS_WORDS.get(error.message ?? "");
  const described = describeFact(words, status, error);
  // A line that was cut, or that says nothing: that a request failed is known all the same.
  if (described.text === "") return { ...fact, text: "a request to the model failed", words: "service=llm" };
  return { ...fact, ...described };
}

type Answer = Pick<CliAError["data"], "responseBody" | "responseHeaders">;

function describeFact(
  parts: readonly string[],
  statusCode: number | undefined,
  { responseBody: body, responseHeaders: headers }: Answer,
): Pick<Fact, "text" | "words" | "status" | "code"> {
  // A body that is no JSON is a proxy's page, of which the beginning says enough.
  const read = readAnswerBody(body ?? "");
  const { codes, sentence, status }: AnswerBody = read ?? {
    sentence: body?.slice(0, MAX_BODY_CHARACTERS).trim() ?? "",
  };
  const said = parts.join(" ");
  // Where the CLI hands the body on as it stands, what the body says takes its place.
  const isWhole = body !== undefined && body.startsWith("{") && sentence !== undefined && said.includes(body);
  const message = isWhole ? said.replace(body, () => sentence) : said;
  const missing = sentence === undefined || sentence === "" || message.includes(sentence) ? [] : [sentence];
  // A stream that begins with an error came with 200: the library puts 500 in its place, whatever the error is.
  const isMadeUp = statusCode === 500 && read !== undefined && isStream(headers);
  const known = isMadeUp ? status : (statusCode ?? status);
  return {
    text: [message, ...missing].filter((part) => part !== "").join(": "),
    // The parts stand apart in the line.
    words: [...parts, ...missing].join(" … "),
    ...defined({ status: known, code: codes }),
  };
}

function isStream(headers: Answer["responseHeaders"]): boolean {
  return headers?.["content-type"]?.startsWith("text/event-stream") ?? false;
}
