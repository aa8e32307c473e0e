import { currentTurn, type Conversation } from "../conversation.ts";
import { say, type Cue, type Ending, type ProviderError, type Refusal, type Reply, type Scenario } from "../reply.ts";
import { numberOr } from "./tools.ts";

const PARTIAL = "This answer breaks off here, because";

const TYPICAL: ReadonlyMap<number, ProviderError> = new Map([
  [400, { code: "invalid_request", message: "Invalid value for parameter 'input'." }],
  [401, { code: "invalid_api_key", message: "Incorrect API key provided: FAKE-KEY. Check your key." }],
  [402, { code: "billing_not_active", message: "Your account is not active, please check your billing details." }],
  [403, { code: "forbidden", message: "You are not allowed to use this model." }],
  [404, { code: "model_not_found", message: "The model `scripted` does not exist or you do not have access to it." }],
  [413, { code: "request_too_large", message: "Request exceeds the maximum size." }],
  [429, { code: "rate_limit_exceeded", message: "Rate limit reached for requests. Please try again in 2s." }],
  [500, { code: "server_error", message: "The server had an error while processing your request." }],
  [503, { code: "server_error", message: "The service is temporarily unavailable." }],
  [529, { code: "server_is_overloaded", message: "Overloaded" }],
]);

/** Answers with an HTTP status and the body a provider sends with it; 500 by default. */
export const status: Scenario = (_conversation, { argument }) => refuse(numberOr(argument, 500));

/** `<code>:<n>`: refuses the first n requests, then answers. */
export const statusThenOk: Scenario = (conversation, { argument, attempt }) => {
  const [code = "", times = ""] = argument.split(":");
  return attempt <= numberOr(times, 2) ? refuse(numberOr(code, 503)) : recovered(conversation, attempt);
};

/** A provider without that API: the body that a plain web server sends. */
export const noApi: Scenario = () => ({ ...refuse(404), body: JSON.stringify({ detail: "Not Found" }) });

/** Accepts the request and never answers. */
export const hang: Scenario = () => ({ type: "hang" });

/** Sends the headers of a stream and nothing more. */
export const headersHang: Scenario = () => ({ type: "silence" });

/** Sends half an answer and nothing more. */
export const stall: Scenario = () => say(PARTIAL, "stall");

/** Breaks the connection in the middle of a text, or with `before` ahead of any text. */
export const cut: Scenario = (_conversation, { argument }) => cutAnswer(argument);

/** `<n>`: breaks the first n streams, one by default, then answers. */
export const cutThenOk: Scenario = (conversation, { argument, attempt }) =>
  attempt <= numberOr(argument, 1) ? cutAnswer("") : recovered(conversation, attempt);

/** Answers 200 with a web page, as a captive portal or a wrong address does. */
export const html: Scenario = () => ({
  type: "page",
  html: "<!doctype html><html><head><title>Welcome</title></head><body>Not an API.</body></html>\n",
});

/** An answer that ends in this way, its text whole. */
export function endingIn(ending: Ending): Scenario {
  return () => say(ending === "none" ? "An answer without an end." : PARTIAL, ending);
}

/** A refusal by status; with the argument `stream` the same error inside a stream that began well. */
export function failingWith(statusCode: number, error: ProviderError): Scenario {
  return (_conversation, { argument }) => {
    if (argument === "stream") return { type: "answer", parts: [], ending: error };
    const seconds = numberOr(argument, 0);
    return { ...refuse(statusCode), ...error, ...(seconds > 0 && { headers: { "retry-after": String(seconds) } }) };
  };
}

function refuse(code: number): Refusal {
  const typical = TYPICAL.get(code) ?? { code: "server_error", message: `The server answered with status ${code}.` };
  return { type: "refusal", status: code, ...typical };
}

function cutAnswer(argument: string): Reply {
  return argument === "before" ? { type: "answer", parts: [], ending: "cut" } : say(PARTIAL, "cut");
}

function recovered(conversation: Conversation, attempt: Cue["attempt"]): Reply {
  const length = currentTurn(conversation).userText.trim().length;
  return say(`Answered ${length} characters at attempt ${attempt}.`);
}
