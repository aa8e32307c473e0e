import { quote } from "../classification/rules.ts";
import type { Fact, FailureRule } from "../contract/failures.ts";
import { PROSE, SHUT_OUT_UNPAID } from "./answer-prose.ts";
import { CODES, MODEL_FIRST, WORDS } from "./answer-words.ts";

/** A rule about a provider's answer, wherever a CLI prints it. */
export type AnswerRule = Omit<FailureRule, "on">;

const FREE_TIER = /\bfree[- ](?:tier|plan|usage|quota|allocation|requests|models)\b|\bFreeTier/i;
const FREE_TIER_REMEDY =
  "wait until the free tier gives more, or have the operator choose a paid plan or another model";

/** What an answer can mean, and how its messages say so where a CLI's table does not say it otherwise. */
const CAUSES = {
  quota: {
    code: "quota_exceeded",
    message: (fact) => `The provider's quota is used up: ${quote(fact)}`,
    // What is given for nothing is no account to pay into.
    remedy: ({ text }) => (FREE_TIER.test(text) ? FREE_TIER_REMEDY : undefined),
  },
  rate: { code: "rate_limited", message: (fact) => `The provider limits the rate of requests: ${quote(fact)}` },
  model: { code: "model_not_found", message: (fact) => `The provider does not know the model: ${quote(fact)}` },
  context: {
    code: "context_overflow",
    message: (fact) => `The conversation is longer than the model's context: ${quote(fact)}`,
  },
  content: {
    code: "content_blocked",
    message: (fact) => `The provider's content filter refused the request: ${quote(fact)}`,
  },
  key: { code: "auth_failed", message: (fact) => `The provider refused the key: ${quote(fact)}` },
  proxy: {
    code: "auth_failed",
    message: (fact) => `A proxy before the provider wants a login (407): ${quote(fact)}`,
    remedy: "give the proxy's address with its user and password, or let the provider's address pass it by",
  },
  protocol: {
    code: "executor_unavailable",
    message: (fact) => `The provider takes this request by another protocol alone (426): ${quote(fact)}`,
    remedy: "have the operator correct the provider's address, or choose a provider that answers plain HTTP requests",
  },
  timeout: { code: "provider_timeout", message: (fact) => `The provider did not answer in time: ${quote(fact)}` },
  failed: { code: "provider_error", message: (fact) => `The provider failed: ${quote(fact)}` },
  request: {
    code: "invalid_request",
    message: (fact) => `The provider refused the request (${fact.status}): ${quote(fact)}`,
  },
} as const satisfies Readonly<
  Record<string, Pick<AnswerRule, "code" | "remedy"> & { message: (fact: Fact) => string }>
>;
type Cause = keyof typeof CAUSES;

/** A refusal whose status leaves the cause open. */
const isRefusal = (status: number): boolean => status >= 400 && status < 500;

/** What shows a cause, in deciding order: a status that leaves no doubt, then codes, then other statuses, then words. */
const SIGNS = [
  { id: "quota-status", cause: "quota", status: [402] },
  { id: "quota-code", cause: "quota", field: CODES.quota },
  { id: "quota-refills", cause: "rate", pattern: WORDS.refill },
  { id: "quota-words", cause: "quota", status: [429], pattern: WORDS.quota },
  { id: "rate-status", cause: "rate", status: [429] },
  { id: "model-code", cause: "model", field: CODES.model },
  // Gone: the address is known, and what it stood for is no more.
  { id: "model-status", cause: "model", status: [410] },
  { id: "context-code", cause: "context", field: CODES.context },
  { id: "content-code", cause: "content", field: CODES.content },
  // Some keep 403 for what they moderate, and for an account that has run dry.
  { id: "content-forbidden", cause: "content", status: [403], pattern: WORDS.content },
  { id: "quota-forbidden", cause: "quota", status: [403], pattern: WORDS.quota },
  { id: "content-forbidden-prose", cause: "content", status: [403], pattern: PROSE.content },
  { id: "quota-forbidden-prose", cause: "quota", status: [403], pattern: PROSE.quota },
  // Others refuse with 401 what is not paid for, or whom they do not let use a model.
  { id: "model-error-code", cause: "model", status: [400, 401, 403, 404], field: CODES.modelError },
  { id: "quota-unauthorized", cause: "quota", status: [401], pattern: WORDS.quota },
  { id: "model-unauthorized", cause: "model", status: [401], pattern: MODEL_FIRST },
  { id: "quota-unauthorized-prose", cause: "quota", status: [401], pattern: SHUT_OUT_UNPAID },
  { id: "key-status", cause: "key", status: [401, 403] },
  // No key of the provider's, but one all the same.
  { id: "proxy-status", cause: "proxy", status: [407] },
  { id: "protocol-status", cause: "protocol", status: [426] },
  { id: "context-words", cause: "context", pattern: WORDS.context },
  { id: "timeout-status", cause: "timeout", status: [408] },
  { id: "failed-status", cause: "failed", status: (status: number) => status >= 500 },
  { id: "key-code", cause: "key", field: CODES.key },
  { id: "key-words", cause: "key", pattern: WORDS.key },
  { id: "content-words", cause: "content", pattern: WORDS.content },
  { id: "quota-text", cause: "quota", pattern: WORDS.quota },
  { id: "model-words", cause: "model", pattern: WORDS.model },
  { id: "quota-prose", cause: "quota", status: isRefusal, pattern: PROSE.quota },
  { id: "content-prose", cause: "content", status: isRefusal, pattern: PROSE.content },
  { id: "context-prose", cause: "context", status: isRefusal, pattern: PROSE.context },
  { id: "model-prose", cause: "model", status: isRefusal, pattern: PROSE.model },
  { id: "key-prose", cause: "key", status: isRefusal, pattern: PROSE.key },
  { id: "request-refused", cause: "request", status: (status: number) => status >= 400 },
] as const satisfies readonly (Pick<AnswerRule, "id" | "status" | "field" | "pattern"> & { readonly cause: Cause })[];

export type AnswerRuleId = (typeof SIGNS)[number]["id"];

/** What one CLI adds to the shared table. */
export interface AnswerTable {
  /** Where each rule was seen with this CLI. */
  readonly seenIn: Readonly<Record<AnswerRuleId, string>>;
  /** Messages of a cause, for a CLI whose messages are worded otherwise. */
  readonly messages?: Readonly<Partial<Record<Cause, AnswerRule["message"]>>>;
  /** The message of one rule, and what to do about it, where the CLI prints more or less of the answer. */
  readonly differs?: Readonly<Partial<Record<AnswerRuleId, Pick<AnswerRule, "message" | "remedy">>>>;
  /** Rules of the CLI's own, each list tried just before a shared rule. */
  readonly before?: Readonly<Partial<Record<AnswerRuleId, readonly AnswerRule[]>>>;
}

/**
 * What the prose of an answer means that has no status, as inside a stream: to be tried when all else says nothing.
 *
 * @param seenIn - where each was seen with this CLI
 */
export function proseRules(seenIn: Readonly<Record<keyof typeof PROSE, string>>): AnswerRule[] {
  return PROSE_CAUSES.map((cause) => ({
    id: `prose-${cause}`,
    pattern: PROSE[cause],
    ...CAUSES[cause],
    seenIn: seenIn[cause],
  }));
}

const PROSE_CAUSES = ["quota", "content", "context", "model", "key"] as const;

/**
 * What a provider's answer means: the rules that hold for every CLI, with one CLI's recordings, wording and own rules.
 *
 * @returns in deciding order
 */
export function answerRules({ seenIn, messages, differs, before }: AnswerTable): AnswerRule[] {
  return SIGNS.flatMap(({ cause, ...sign }) => {
    const { message, ...meaning } = CAUSES[cause];
    const rule: AnswerRule = {
      ...sign,
      ...meaning,
      message: messages?.[cause] ?? message,
      ...differs?.[sign.id],
      seenIn: seenIn[sign.id],
    };
    return [...(before?.[sign.id] ?? []), rule];
  });
}
