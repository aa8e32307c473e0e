import { quote } from "../../classification/rules.ts";
import type { FailureRule } from "../../contract/failures.ts";
import { ERROR_IN_STREAM, FINISH_EMPTY, REJECTED_TOOL, USAGE_TEXT } from "./facts.ts";
import { RECORD_ANSWER_RULES } from "./provider-rules.ts";

/** Errors that have a name of their own. */
const NAMED_RULES: readonly FailureRule[] = [
  {
    id: "context-overflow",
    on: "record",
    name: /^ContextOverflowError$/,
    code: "context_overflow",
    message: (fact) => `The conversation is longer than the model's context: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/context-overflow",
  },
  {
    id: "no-key",
    on: "record",
    name: /^ProviderAuthError$/,
    code: "credential_missing",
    message: (fact) => `CLI A has no key for the provider: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/no-key",
  },
  {
    id: "answer-filtered",
    on: "record",
    name: /^ContentFilterError$/,
    code: "content_blocked",
    message: "The provider's content filter cut the answer off.",
    seenIn: "cli-a/1.18.33/content-filtered",
  },
  {
    id: "output-length",
    on: "record",
    name: /^MessageOutputLengthError$/,
    code: "output_limit",
    message: "The answer reached the model's output limit.",
    seenIn: "docs/contracts/cli-a.md §5",
  },
  {
    id: "output-unstructured",
    on: "record",
    name: /^StructuredOutputError$/,
    code: "provider_error",
    message: (fact) => `The model's answer has not the form that was asked for: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5",
  },
  {
    id: "aborted",
    on: "record",
    name: /^MessageAbortedError$/,
    code: "crashed",
    message: "Something inside CLI A aborted the run.",
    seenIn: "docs/contracts/cli-a.md §5",
  },
];

/** Errors of the CLI itself, by the words they begin with. */
const OWN_RULES: readonly FailureRule[] = [
  {
    id: "model-not-configured",
    on: "record",
    pattern: /^Model not found: /,
    code: "model_not_found",
    message: (fact) => `CLI A knows no such model or provider: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/unknown-model",
  },
  {
    id: "agent-or-command-unknown",
    on: "record",
    pattern: /^(?:Agent|Command) not found: /,
    code: "invalid_request",
    message: (fact) => `CLI A knows no such agent or command: ${quote(fact)}`,
    remedy: "name one that CLI A has",
    seenIn: "cli-a/1.3.2/unknown-command",
  },
  {
    // Without words of its own: where it was raised says what it is about.
    id: "command-unknown",
    on: "record",
    name: /^UnknownError$/,
    field: /^SessionPrompt\.command$/,
    pattern: /^UnknownError$/,
    code: "invalid_request",
    message: "CLI A knows no such command.",
    remedy: "name one that CLI A has",
    seenIn: "cli-a/1.18.33/unknown-command",
  },
  {
    id: "provider-package",
    on: "record",
    // Source of the second wording: cli-a/1.18.33/provider-package-missing.
    pattern: /ProviderInitError|^Failed to initialize provider: /,
    code: "executor_unavailable",
    message: "CLI A could not load the provider's package.",
    remedy: "set CLI_A_PROVIDER_NPM to a package that comes with it",
    seenIn: "cli-a/1.3.2/provider-package-missing",
  },
  {
    id: "cause-in-log",
    on: "record",
    pattern: /^Unexpected server error\. Check server logs/,
    code: "unknown",
    message: "CLI A failed and named the cause in its log alone, where it does not stand.",
    seenIn: "docs/contracts/cli-a.md §5",
    isProven: false,
  },
  {
    id: "base-url-invalid",
    on: "record",
    name: /^UnknownError$/,
    pattern: /cannot be parsed as a URL|^Invalid URL\b/,
    code: "config_invalid",
    message: (fact) => `The provider's address is no URL: ${quote(fact)}`,
    remedy: "correct CLI_A_BASE_URL",
    seenIn: "cli-a/1.14.34/base-url-invalid",
  },
  {
    id: "permission-error",
    on: "record",
    pattern: /^The user (?:rejected permission|has specified a rule)/,
    code: "permission_denied",
    // The rules that follow in the CLI's sentence stay in the evidence.
    message: ({ text }) =>
      `A tool needed a permission it was not given: ${quote({ text: text.split(" Here are", 1).join("") })}`,
    seenIn: "cli-a/1.3.2/doom-loop-rejected",
  },
];

/** What is left when the provider's answer says nothing. */
const OTHER_RULES: readonly FailureRule[] = [
  {
    id: "store-full",
    on: "record",
    pattern:
      /SQLITE_(?:FULL|IOERR|READONLY|CORRUPT)|database or disk is full|disk I\/O error|ENOSPC|EDQUOT|^Failed to execute statement/,
    code: "storage_error",
    message: (fact) => `CLI A could not write its state: ${quote(fact)}`,
    seenIn: "cli-a/1.18.33/store-disk-full-later",
  },
  {
    id: "error-in-stream",
    on: "record",
    name: new RegExp(`^${ERROR_IN_STREAM}$`),
    code: "provider_error",
    message: (fact) => `The provider reported an error inside its answer: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/error-inside-stream",
  },
  {
    id: "request-failed",
    on: "record",
    name: /^APIError$/,
    code: "provider_error",
    message: (fact) => `The request to the provider failed: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5",
  },
];

/** A last step that ended, but not with a full answer. */
const FINISH_RULES: readonly FailureRule[] = [
  {
    id: "finish-length",
    on: "record",
    name: /^step_finish/,
    field: /^length$/,
    code: "output_limit",
    message: "The answer reached the model's output limit.",
    seenIn: "cli-a/1.14.34/output-limit",
  },
  {
    id: "finish-filtered",
    on: "record",
    name: /^step_finish/,
    field: /^content-filter$/,
    code: "content_blocked",
    message: "The provider's content filter cut the answer off.",
    seenIn: "cli-a/1.3.2/content-filtered",
  },
  {
    id: "finish-error",
    on: "record",
    name: /^step_finish/,
    field: /^error$/,
    code: "provider_error",
    message: "The provider ended the answer with an error.",
    seenIn: "docs/contracts/cli-a.md §1.2",
  },
  {
    id: "finish-empty",
    on: "record",
    name: new RegExp(`^${FINISH_EMPTY}$`),
    field: /^(?:unknown|other)$/,
    code: "provider_error",
    message: "The provider's answer was empty and did not say why it ended.",
    remedy: "check that the provider's address speaks the API it is configured for",
    seenIn: "cli-a/1.14.34/answer-is-no-stream",
  },
  {
    id: "rejected-tool",
    on: "record",
    name: new RegExp(`^${REJECTED_TOOL}$`),
    code: "permission_denied",
    message: "A tool asked for a permission and was refused it, and the run stopped there.",
    seenIn: "cli-a/1.3.2/permission-auto-rejected",
  },
  {
    id: "usage-printed",
    on: "record",
    name: new RegExp(`^${USAGE_TEXT}$`),
    code: "invalid_request",
    message: "CLI A does not take these arguments and printed its usage.",
    seenIn: "cli-a/1.3.2/unknown-flag",
  },
];

/** The table for what stands on stdout. */
export const RECORD_RULES: readonly FailureRule[] = [
  ...NAMED_RULES,
  ...OWN_RULES,
  ...RECORD_ANSWER_RULES,
  ...OTHER_RULES,
  ...FINISH_RULES,
];
