import { quote, type FailureRule } from "../rules.ts";
import { REQUEST_FAILED } from "./facts.ts";

/**
 * What a provider's answer means: structured fields first, then its words.
 *
 * Tried on `error` records, and on the failed requests of the log, which alone tell of what the CLI repeats for ever.
 */
const ANSWERS: readonly Omit<FailureRule, "on">[] = [
  {
    id: "no-quota",
    status: [402],
    code: "quota_exceeded",
    message: (fact) => `The provider's account has no credit left: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/no-credit",
  },
  {
    id: "quota-code",
    field: /insufficient_quota|billing|credit|quota_exceeded|usage_limit/i,
    code: "quota_exceeded",
    message: (fact) => `The provider's quota is used up: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/quota-exceeded-until-killed",
  },
  {
    id: "quota-words",
    pattern:
      /quota exceeded|exceeded your current quota|insufficient (?:quota|credit|balance)|credit balance is too low/i,
    code: "quota_exceeded",
    message: (fact) => `The provider's quota is used up: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/quota-exceeded-until-killed",
  },
  {
    id: "key-refused",
    status: [401, 403],
    code: "auth_failed",
    message: (fact) => `The provider refused the key (${fact.status}): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/bad-key",
  },
  {
    id: "context-code",
    field: /context_length_exceeded/i,
    code: "context_overflow",
    message: (fact) => `The conversation is longer than the model's context: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/context-overflow",
  },
  {
    id: "context-status",
    status: [413],
    code: "context_overflow",
    message: (fact) => `The request is longer than the provider takes: ${quote(fact)}`,
    seenIn: "contract section 6",
  },
  {
    id: "context-words",
    pattern:
      /prompt is too long|maximum context length|exceeds the (?:model's )?context window|input token count.*exceeds/i,
    code: "context_overflow",
    message: (fact) => `The conversation is longer than the model's context: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/context-overflow",
  },
  {
    id: "content-refused",
    field: /content_filter|content_policy/i,
    code: "content_blocked",
    message: (fact) => `The provider's content filter refused the request: ${quote(fact)}`,
    seenIn: "contract section 5",
  },
  {
    id: "model-unknown",
    status: [404],
    code: "model_not_found",
    message: (fact) => `The provider does not know the model or the address (404): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/model-unknown-at-provider",
  },
  {
    id: "model-code",
    field: /model_not_found/i,
    code: "model_not_found",
    message: (fact) => `The provider does not know the model: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/model-unknown-at-provider",
  },
  {
    id: "rate-limited",
    status: [429],
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests (429): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/rate-limited-until-killed",
  },
  {
    id: "provider-slow",
    status: [408, 504],
    code: "provider_timeout",
    message: (fact) => `The provider did not answer in time (${fact.status}): ${quote(fact)}`,
    seenIn: "contract section 5",
  },
  {
    id: "provider-failed",
    status: (status) => status >= 500,
    code: "provider_error",
    message: (fact) => `The provider failed (${fact.status}): ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/provider-error-until-killed",
  },
  {
    id: "request-refused",
    status: (status) => status >= 400 && status < 500,
    code: "invalid_request",
    message: (fact) => `The provider refused the request (${fact.status}): ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/bad-request",
  },
  {
    id: "timed-out",
    pattern: /operation timed out|SSE read timed out|timeout error/i,
    code: "provider_timeout",
    message: (fact) => `The provider did not answer in time: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/provider-timeout",
  },
  {
    id: "unreachable",
    pattern:
      /unable to connect|typo in the url or port|socket connection was closed|cannot connect to API|connection reset|fetch failed|certificate|ConnectionRefused|ECONN(?:RESET|REFUSED)|ENOTFOUND|EAI_AGAIN/i,
    code: "network_error",
    message: (fact) => `The provider could not be reached: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/connection-refused",
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
