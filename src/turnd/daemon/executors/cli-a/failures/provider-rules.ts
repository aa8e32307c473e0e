import { answerRules, proseRules, type AnswerRule } from "../../providers/answer-rules.ts";
import { CODES, WORDS } from "../../providers/answer-words.ts";
import { quote } from "../../classification/rules.ts";
import type { FailureRule } from "../../contract/failures.ts";
import { REQUEST_FAILED } from "./facts.ts";

const MALFORMED =
  /^(?:AI_(?:TypeValidation|JSONParse|InvalidResponseData|No\w+Generated|EmptyResponseBody)|JSON parsing failed|Type validation failed|Invalid JSON response|No output generated)/;
/** With the words of the CLI's own timeouts. */
const TIMED_OUT = new RegExp(`SSE read timed out|${WORDS.slow.source}`, "i");

/**
 * What a provider's answer means: the shared table, and what the CLI's own words add to it.
 *
 * Tried on `error` records, and on the failed requests of the log, which are all that shows what the CLI repeats for ever.
 */
const ANSWERS: readonly AnswerRule[] = [
  {
    // Quotes what it could not read, the model's own text too: no word of it may decide.
    id: "answer-malformed",
    pattern: MALFORMED,
    code: "provider_error",
    message: (fact) => `The provider's answer is malformed: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/malformed-stream",
  },
  ...answerRules({
    seenIn: {
      "quota-status": "cli-a/1.14.34/no-credit",
      "quota-code": "cli-a/1.14.34/quota-exceeded-until-killed",
      "quota-refills": "cli-a/1.14.34/quota-per-minute-until-killed",
      "quota-words": "cli-a/1.3.2/spending-limit-until-killed",
      "rate-status": "cli-a/1.3.2/rate-limited-until-killed",
      "model-code": "cli-a/1.3.2/model-unknown-at-provider",
      "model-status": "cli-a/1.18.33/model-gone",
      "context-code": "docs/contracts/cli-a.md §5",
      "content-code": "cli-a/1.14.34/prompt-filtered",
      "content-forbidden": "cli-a/1.14.34/prompt-moderated",
      "quota-forbidden": "cli-a/1.3.2/no-credit-forbidden",
      "model-error-code": "docs/contracts/cli-a.md §5",
      "quota-unauthorized": "docs/contracts/cli-a.md §5",
      "model-unauthorized": "docs/contracts/cli-a.md §5",
      "quota-unauthorized-prose": "docs/contracts/cli-a.md §5",
      "key-status": "cli-a/1.3.2/bad-key",
      "proxy-status": "cli-a/1.18.33/proxy-wants-login",
      "protocol-status": "docs/contracts/cli-a.md §5",
      "context-words": "cli-a/1.14.34/context-overflow",
      "timeout-status": "cli-a/1.14.34/provider-slow-until-killed",
      "failed-status": "cli-a/1.14.34/provider-error-until-killed",
      "key-code": "cli-a/1.14.34/bad-key-400",
      "key-words": "cli-a/1.14.34/bad-key-400-words",
      "content-words": "cli-a/1.14.34/prompt-risky",
      "quota-text": "cli-a/1.14.34/no-credit-400",
      "model-words": "cli-a/1.14.34/model-unknown-400",
      "content-forbidden-prose": "cli-a/1.18.33/refused-in-prose-content-403",
      "quota-forbidden-prose": "cli-a/1.18.33/refused-in-prose-quota-403",
      "quota-prose": "cli-a/1.18.33/refused-in-prose-quota",
      "content-prose": "cli-a/1.18.33/refused-in-prose-content",
      "context-prose": "cli-a/1.18.33/refused-in-prose-context",
      "model-prose": "cli-a/1.18.33/refused-in-prose-model",
      "key-prose": "cli-a/1.18.33/refused-in-prose-key",
      "request-refused": "cli-a/1.3.2/bad-request",
    },
    differs: {
      "quota-status": { message: (fact) => `The provider's account has no credit left: ${quote(fact)}` },
      "rate-status": { message: (fact) => `The provider limits the rate of requests (429): ${quote(fact)}` },
      "key-status": { message: (fact) => `The provider refused the key (${fact.status}): ${quote(fact)}` },
      "timeout-status": { message: (fact) => `The provider did not answer in time (408): ${quote(fact)}` },
      "failed-status": { message: (fact) => `The provider failed (${fact.status}): ${quote(fact)}` },
    },
    before: {
      "context-words": [
        {
          id: "model-unknown",
          status: [404],
          code: "model_not_found",
          message: (fact) => `The provider does not know the model or the address (404): ${quote(fact)}`,
          seenIn: "cli-a/1.3.2/model-unknown-at-provider",
        },
        {
          id: "size-code",
          field: /(?:^| )request_too_large(?= |$)/,
          code: "context_overflow",
          message: (fact) => `The request is longer than the provider takes: ${quote(fact)}`,
          seenIn: "cli-a/1.18.33/request-too-large-in-stream",
        },
        {
          id: "context-status",
          status: [413],
          code: "context_overflow",
          message: (fact) => `The request is longer than the provider takes: ${quote(fact)}`,
          seenIn: "docs/contracts/cli-a.md §6",
        },
      ],
    },
  }),
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
  {
    id: "request-code",
    field: CODES.request,
    code: "invalid_request",
    message: (fact) => `The provider refused the request: ${quote(fact)}`,
    seenIn: "cli-a/1.18.33/request-refused-in-stream",
  },
  {
    // 1.18.33 takes it for a context that overflows, and repeats it; its log has no status.
    id: "image-too-large",
    pattern: /\bimage\b.{0,20}\bexceeds?\b.{0,20}\b(?:maximum|limit)/i,
    code: "invalid_request",
    message: (fact) => `The provider refused an image: ${quote(fact)}`,
    remedy: "leave it out or send a smaller one",
    seenIn: "cli-a/1.18.33/image-too-large-until-killed",
  },
  ...proseRules({
    quota: "docs/contracts/cli-a.md §5",
    content: "docs/contracts/cli-a.md §5",
    context: "docs/contracts/cli-a.md §5",
    model: "docs/contracts/cli-a.md §5",
    key: "docs/contracts/cli-a.md §5",
  }),
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
