import { proseRules } from "../../providers/answer-rules.ts";
import { WORDS } from "../../providers/answer-words.ts";
import { quote } from "../../classification/rules.ts";
import type { FailureRule } from "../../contract/failures.ts";
import { AFTER_ITEMS, BEFORE_ITEMS } from "./facts.ts";

const STREAM_CLOSED = /stream closed before response\.completed/;
const TIMED_OUT = new RegExp(`idle timeout waiting for|${WORDS.slow.source}`, "i");
const NETWORK = new RegExp(
  `error sending request|error decoding response body|error while reading the server response|${WORDS.network.source}`,
  "i",
);

/** What is left of an answer without a status: errors inside its stream, and connections that fail. */
export const STREAM_RULES: readonly FailureRule[] = [
  {
    id: "rate-text",
    on: "record",
    pattern: WORDS.rate,
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/rate-limited-in-stream",
  },
  {
    // One that breaks off at once, and one that is something else: the CLI says the same of both.
    id: "stream-closed-at-once",
    on: "record",
    name: new RegExp(`^${BEFORE_ITEMS}$`),
    pattern: STREAM_CLOSED,
    code: "provider_error",
    message: "The provider closed the stream before the answer's first item.",
    remedy:
      "send the turn again, and have the operator check that the provider speaks the Responses API if it fails again",
    seenIn: "cli-b/0.139.0/not-a-responses-stream",
  },
  {
    id: "stream-closed-early",
    on: "record",
    name: new RegExp(`^${AFTER_ITEMS}$`),
    pattern: STREAM_CLOSED,
    code: "network_error",
    message: "The provider closed the stream before the answer was complete.",
    seenIn: "cli-b/0.139.0/stream-cut-after-message",
  },
  {
    id: "provider-timeout",
    on: "record",
    pattern: TIMED_OUT,
    code: "provider_timeout",
    message: "The provider began to answer and then sent nothing more in time.",
    seenIn: "cli-b/0.139.0/stream-idle-timeout",
  },
  {
    // The whole text a 500 leaves, and what an overloaded model says.
    id: "provider-overloaded",
    on: "record",
    pattern: WORDS.failed,
    code: "provider_error",
    message: (fact) => `The provider is overloaded or failed: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/server-error",
  },
  {
    id: "network",
    on: "record",
    pattern: NETWORK,
    code: "network_error",
    message: "The provider could not be reached or the connection broke (refused, DNS, TLS or reset).",
    seenIn: "cli-b/0.139.0/connection-refused",
  },
  ...proseRules({
    quota: "docs/contracts/cli-b.md §5",
    content: "docs/contracts/cli-b.md §5",
    context: "docs/contracts/cli-b.md §5",
    model: "docs/contracts/cli-b.md §5",
    key: "docs/contracts/cli-b.md §5",
  }).map((rule): FailureRule => ({ ...rule, on: "record" })),
  {
    // The body of a 400 is handed on as it is, also where it is a sentence or nothing.
    id: "request-refused-words",
    on: "record",
    pattern: WORDS.request,
    code: "invalid_request",
    message: (fact) => `The provider refused the request: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/bad-request-plain",
  },
  {
    id: "request-refused-silently",
    on: "record",
    pattern: /^\s*$/,
    code: "invalid_request",
    message: "The provider refused the request (400) and did not say why.",
    seenIn: "cli-b/0.139.0/bad-request-empty",
  },
  {
    // Nor is it decoded: one in an encoding that was not asked for, as Brotli, is no text.
    id: "request-refused-unreadable",
    on: "record",
    // eslint-disable-next-line no-control-regex
    pattern: /^(?!stream disconnected)[^]{0,2000}?(?:\ufffd|[\0-\x08\x0e-\x1a])/,
    code: "invalid_request",
    message: "The provider refused the request (400), in an encoding that CLI B does not read.",
    seenIn: "cli-b/0.169.0/bad-request-unreadable",
  },
  {
    // The reasons that are known have rules of their own.
    id: "answer-incomplete",
    on: "record",
    pattern: /^(?:stream disconnected before completion: )?Incomplete response returned, reason: /,
    code: "provider_error",
    message: (fact) => `The provider broke the answer off: ${quote(fact)}`,
    seenIn: "cli-b/0.169.0/answer-incomplete",
  },
  {
    id: "stream-failed",
    on: "record",
    pattern: /^stream disconnected before completion: /,
    code: "provider_error",
    message: (fact) => `The provider broke the answer off: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/stream-failed",
  },
];
