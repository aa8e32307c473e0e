import { CODES, WORDS } from "../../providers/answer-words.ts";
import { quote, type FailureRule } from "../../classification/rules.ts";
import { REQUEST_FAILED } from "./facts.ts";

const MALFORMED =
  /^(?:AI_(?:TypeValidation|JSONParse|InvalidResponseData|No\w+Generated|EmptyResponseBody)|JSON parsing failed|Type validation failed|Invalid JSON response|No output generated)/;
/** With what the CLI's own time-outs say. */
const TIMED_OUT = new RegExp(`SSE read timed out|${WORDS.slow.source}`, "i");

/**
 * What a provider's answer means: structured fields first, then its words.
 *
 * Tried on `error` records, and on the failed requests of the log, which alone tell of what the CLI repeats for ever.
 */
const ANSWERS: readonly Omit<FailureRule, "on">[] = [
  {
    // Quotes what it could not read, the model's own text too: no word of it may decide.
    id: "answer-malformed",
    pattern: MALFORMED,
    code: "provider_error",
    message: (fact) => `The provider's answer is malformed: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/malformed-stream",
  },
  {
    id: "no-quota",
    status: [402],
    code: "quota_exceeded",
    message: (fact) => `The provider's account has no credit left: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/no-credit",
  },
  {
    id: "quota-code",
    field: CODES.quota,
    code: "quota_exceeded",
    message: (fact) => `The provider's quota is used up: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/quota-exceeded-until-killed",
  },
  {
    id: "quota-refills",
    pattern: WORDS.refill,
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/quota-per-minute-until-killed",
  },
  {
    id: "quota-words",
    status: [429],
    pattern: WORDS.quota,
    code: "quota_exceeded",
    message: (fact) => `The provider's quota is used up: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/spending-limit-until-killed",
  },
  {
    id: "rate-limited",
    status: [429],
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests (429): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/rate-limited-until-killed",
  },
  {
    id: "model-code",
    field: CODES.model,
    code: "model_not_found",
    message: (fact) => `The provider does not know the model: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/model-unknown-at-provider",
  },
  {
    id: "context-code",
    field: CODES.context,
    code: "context_overflow",
    message: (fact) => `The conversation is longer than the model's context: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5",
  },
  {
    id: "content-code",
    field: CODES.content,
    code: "content_blocked",
    message: (fact) => `The provider's content filter refused the request: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/prompt-filtered",
  },
  {
    // Some keep 403 for what they moderate, and for an account that has run dry.
    id: "content-forbidden",
    status: [403],
    pattern: WORDS.content,
    code: "content_blocked",
    message: (fact) => `The provider's content filter refused the request: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/prompt-moderated",
  },
  {
    id: "quota-forbidden",
    status: [403],
    pattern: WORDS.quota,
    code: "quota_exceeded",
    message: (fact) => `The provider's quota is used up: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/no-credit-forbidden",
  },
  {
    id: "key-refused",
    status: [401, 403],
    code: "auth_failed",
    message: (fact) => `The provider refused the key (${fact.status}): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/bad-key",
  },
  {
    id: "model-unknown",
    status: [404],
    code: "model_not_found",
    message: (fact) => `The provider does not know the model or the address (404): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/model-unknown-at-provider",
  },
  {
    id: "context-status",
    status: [413],
    code: "context_overflow",
    message: (fact) => `The request is longer than the provider takes: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §6",
  },
  {
    id: "context-words",
    pattern: WORDS.context,
    code: "context_overflow",
    message: (fact) => `The conversation is longer than the model's context: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/context-overflow",
  },
  {
    id: "provider-slow",
    status: [408],
    code: "provider_timeout",
    message: (fact) => `The provider did not answer in time (408): ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/provider-slow-until-killed",
  },
  {
    id: "provider-failed",
    status: (status) => status >= 500,
    code: "provider_error",
    message: (fact) => `The provider failed (${fact.status}): ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/provider-error-until-killed",
  },
  {
    id: "key-code",
    field: CODES.key,
    code: "auth_failed",
    message: (fact) => `The provider refused the key: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/bad-key-400",
  },
  {
    id: "key-words",
    pattern: WORDS.key,
    code: "auth_failed",
    message: (fact) => `The provider refused the key: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/bad-key-400-words",
  },
  {
    id: "content-words",
    pattern: WORDS.content,
    code: "content_blocked",
    message: (fact) => `The provider's content filter refused the request: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/prompt-risky",
  },
  {
    id: "quota-said",
    pattern: WORDS.quota,
    code: "quota_exceeded",
    message: (fact) => `The provider's quota is used up: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/no-credit-400",
  },
  {
    id: "model-words",
    pattern: WORDS.model,
    code: "model_not_found",
    message: (fact) => `The provider does not know the model: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/model-unknown-400",
  },
  {
    id: "request-refused",
    status: (status) => status >= 400,
    code: "invalid_request",
    message: (fact) => `The provider refused the request (${fact.status}): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/bad-request",
  },
  {
    id: "rate-code",
    field: CODES.rate,
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/rate-limited-in-stream-until-killed",
  },
  {
    id: "rate-words",
    pattern: WORDS.rate,
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/rate-limited-in-stream",
  },
  {
    id: "slow-code",
    field: CODES.slow,
    code: "provider_timeout",
    message: (fact) => `The provider did not answer in time: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5",
  },
  {
    id: "timed-out",
    pattern: TIMED_OUT,
    code: "provider_timeout",
    message: (fact) => `The provider did not answer in time: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/provider-timeout",
  },
  {
    id: "unreachable",
    pattern: WORDS.network,
    code: "network_error",
    message: (fact) => `The provider could not be reached: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/connection-refused",
  },
  {
    id: "failed-code",
    field: CODES.failed,
    code: "provider_error",
    message: (fact) => `The provider failed: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/overloaded-in-stream",
  },
  {
    id: "failed-words",
    pattern: WORDS.failed,
    code: "provider_error",
    message: (fact) => `The provider failed: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5",
  },
];

/** The table for `error` records. */
export const RECORD_ANSWER_RULES: readonly FailureRule[] = ANSWERS.map((rule) => ({ ...rule, on: "record" }));

/** The same table for the log. */
export const LOG_ANSWER_RULES: readonly FailureRule[] = ANSWERS.map((rule) => ({
  ...rule,
  id: `log-${rule.id}`,
  on: "stderr",
  name: new RegExp(`^${REQUEST_FAILED}$`),
}));
