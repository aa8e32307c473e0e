import { quote } from "../../classification/rules.ts";
import type { Fact, FailureRule } from "../../contract/failures.ts";
import { answerRules } from "../../providers/answer-rules.ts";
import { PROSE } from "../../providers/answer-prose.ts";
import { WORDS } from "../../providers/answer-words.ts";
import { OWN_RULES } from "./own-rules.ts";
import { STREAM_RULES } from "./stream-rules.ts";

/** The provider's words, where the CLI hands any on. */
function said(fact: Fact): string {
  return /^(?:unexpected status|exceeded retry limit)/.test(fact.text) ? "" : `: ${quote(fact)}`;
}

/** How the provider refused: the shared table, and what the CLI's own words add. Source: docs/contracts/cli-b.md §5, §7. */
const ANSWER_RULES = answerRules({
  seenIn: {
    "quota-status": "cli-b/0.139.0/payment-required",
    "quota-code": "docs/contracts/cli-b.md §5",
    "quota-refills": "docs/contracts/cli-b.md §5",
    "quota-words": "docs/contracts/cli-b.md §5",
    "rate-status": "cli-b/0.139.0/rate-limited",
    "model-code": "cli-b/0.139.0/model-not-found-400",
    "model-status": "cli-b/0.169.0/model-gone",
    "context-code": "cli-b/0.139.0/context-overflow",
    "content-code": "cli-b/0.139.0/prompt-filtered",
    "content-forbidden": "cli-b/0.139.0/prompt-moderated",
    "quota-forbidden": "cli-b/0.139.0/no-credit-forbidden",
    "model-error-code": "docs/contracts/cli-b.md §5",
    "quota-unauthorized": "docs/contracts/cli-b.md §5",
    "model-unauthorized": "docs/contracts/cli-b.md §5",
    "quota-unauthorized-prose": "docs/contracts/cli-b.md §5",
    "key-status": "cli-b/0.139.0/bad-key",
    "proxy-status": "cli-b/0.169.0/proxy-wants-login",
    "protocol-status": "docs/contracts/cli-b.md §5",
    "context-words": "cli-b/0.139.0/context-overflow-in-stream",
    "timeout-status": "cli-b/0.139.0/provider-slow",
    "failed-status": "cli-b/0.139.0/server-unavailable",
    "key-code": "cli-b/0.139.0/bad-key-400",
    "key-words": "cli-b/0.139.0/bad-key-400-words",
    "content-words": "cli-b/0.139.0/prompt-risky",
    "quota-text": "cli-b/0.139.0/quota-in-stream",
    "model-words": "cli-b/0.139.0/model-unknown-400",
    "content-forbidden-prose": "cli-b/0.169.0/refused-in-prose-content-403",
    "quota-forbidden-prose": "cli-b/0.169.0/refused-in-prose-quota-403",
    "quota-prose": "cli-b/0.169.0/refused-in-prose-quota",
    "content-prose": "cli-b/0.169.0/refused-in-prose-content",
    "context-prose": "cli-b/0.169.0/refused-in-prose-context",
    "model-prose": "cli-b/0.169.0/refused-in-prose-model",
    "key-prose": "cli-b/0.169.0/refused-in-prose-key",
    "request-refused": "cli-b/0.139.0/bad-parameter",
  },
  messages: {
    quota: (fact) => `The provider says that the account's quota is used up: ${quote(fact)}`,
    context: (fact) => `The conversation is longer than the model's context window: ${quote(fact)}`,
    content: (fact) => `The provider's content policy blocked the request: ${quote(fact)}`,
    key: (fact) => `The provider refused the API key: ${quote(fact)}`,
  },
  differs: {
    "quota-status": {
      message: (fact) => `The provider wants payment (402)${said(fact) || ": the account has no credit left."}`,
    },
    // 0.139.0 drops the body of a 429, so an exhausted quota looks the same.
    "rate-status": {
      message: (fact) =>
        `The provider limits the rate of requests (429), or the account's quota is used up${said(fact)}`,
      remedy: "send the turn again later, and look at the account's quota if it fails again",
    },
    "key-status": { message: (fact) => `The provider refused the API key (${fact.status})${said(fact)}` },
    "timeout-status": { message: (fact) => `The provider gave up waiting for the request (408)${said(fact)}` },
    "failed-status": { message: (fact) => `The provider failed (${fact.status})${said(fact)}` },
  },
  before: {
    "context-words": [
      {
        // A 404 keeps no code; only the sentence distinguishes an unknown model from a missing Responses API.
        id: "model-text",
        status: [404],
        pattern: WORDS.model,
        code: "model_not_found",
        message: (fact) => `The provider does not know the model: ${quote(fact)}`,
        seenIn: "cli-b/0.139.0/model-not-found",
      },
      {
        id: "model-text-prose",
        status: [404],
        pattern: PROSE.model,
        code: "model_not_found",
        message: (fact) => `The provider does not know the model: ${quote(fact)}`,
        seenIn: "cli-b/0.169.0/refused-in-prose-model-404",
      },
      {
        id: "no-responses-api",
        status: [404, 405, 501],
        code: "executor_unavailable",
        message: (fact) =>
          `The provider does not speak the Responses API that CLI B needs (${fact.status} on /responses)${said(fact)}`,
        remedy: "have the operator choose a provider that does",
        seenIn: "cli-b/0.139.0/no-responses-api",
      },
      {
        id: "too-large",
        status: [413],
        code: "invalid_request",
        message: (fact) => `The request is larger than the provider takes (413): ${quote(fact)}`,
        remedy: "shorten the input or start a new session",
        seenIn: "cli-b/0.139.0/request-too-large",
      },
    ],
    "content-words": [
      {
        id: "content-filter",
        pattern: /reason: content_filter/,
        code: "content_blocked",
        message: "The provider's content filter stopped the answer.",
        seenIn: "cli-b/0.139.0/content-filter",
      },
      {
        id: "prompt-flagged",
        pattern: /^Invalid prompt\b/,
        code: "content_blocked",
        message: (fact) => `The provider blocked the prompt: ${quote(fact)}`,
        seenIn: "cli-b/0.139.0/prompt-flagged",
      },
    ],
    "quota-text": [
      {
        id: "output-limit",
        pattern: /reason: max_output_tokens/,
        code: "output_limit",
        message: "The answer reached the model's output limit.",
        seenIn: "cli-b/0.139.0/output-limit",
      },
    ],
  },
}).map((rule): FailureRule => ({ ...rule, on: "record" }));

/** The message of `turn.failed`. Order matters. */
export const PROVIDER_RULES: readonly FailureRule[] = [...OWN_RULES, ...ANSWER_RULES, ...STREAM_RULES];
