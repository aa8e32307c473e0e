import { quote } from "../../classification/rules.ts";
import type { Fact, FailureRule } from "../../contract/failures.ts";
import type { TurnError } from "../records/turn-error.ts";
import { toProviderFact } from "./facts.ts";

/** What the server calls a failure, before it is looked for in words. Source: docs/contracts/cli-b-app-server.md §8. */
const TYPES: readonly (Pick<FailureRule, "code" | "message" | "seenIn"> & { readonly name: RegExp })[] = [
  {
    name: /^contextWindowExceeded$/,
    code: "context_overflow",
    message: "The conversation is longer than the model takes.",
    seenIn: "cli-b-server/0.171.0/context-overflow",
  },
  {
    name: /^(?:usageLimitExceeded|sessionBudgetExceeded)$/,
    code: "quota_exceeded",
    message: (fact) => `The provider says that the account's quota is used up: ${quote(fact)}`,
    seenIn: "cli-b-server/0.171.0/quota-exceeded",
  },
  {
    name: /^rateLimitExceeded$/,
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b-app-server.md §8",
  },
  {
    name: /^modelNotFound$/,
    code: "model_not_found",
    message: (fact) => `The provider does not have the model: ${quote(fact)}`,
    seenIn: "cli-b-server/0.171.0/not-found",
  },
  {
    name: /^(?:cyberPolicy|bioPolicy|misalignmentPolicyViolation)$/,
    code: "content_blocked",
    message: (fact) => `The provider refused the content: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b-app-server.md §8",
  },
  {
    name: /^(?:serverOverloaded|flexUnavailable|policyCapacityUnavailable|internalServerError)$/,
    code: "provider_error",
    message: (fact) => `The provider is overloaded or failed: ${quote(fact)}`,
    seenIn: "cli-b-server/0.171.0/server-error",
  },
];

/** Rules for what the server names by a type. */
export const TYPED_RULES: readonly FailureRule[] = TYPES.map((type) => ({
  id: `typed-${type.code.replaceAll("_", "-")}`,
  on: "record",
  ...type,
}));

/** What the server said of a failure: its words as `exec` prints them, and what it says in fields. */
export function toServerFact(error: TurnError, at: { line: number; hasItems: boolean }): Fact {
  const fact = toProviderFact(error.additionalDetails ?? error.message, at);
  const { name, status } = readInfo(error.codexErrorInfo);
  return {
    ...fact,
    ...(name === undefined || !TYPES.some((type) => type.name.test(name)) ? {} : { name }),
    ...(status === undefined ? {} : { status }),
  };
}

function readInfo(info: TurnError["codexErrorInfo"]): { name?: string; status?: number } {
  if (info === null || info === undefined) return {};
  if (typeof info === "string") return { name: info };
  const [[name, value] = []] = Object.entries(info);
  const status =
    typeof value === "object" && value !== null && "httpStatusCode" in value ? value.httpStatusCode : undefined;
  return { ...(name === undefined ? {} : { name }), ...(typeof status === "number" ? { status } : {}) };
}
