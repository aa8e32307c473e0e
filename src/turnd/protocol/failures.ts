import * as z from "zod";

/** The closed list of reasons why a turn did not complete. Source: docs/design.md §4. */
export const FailureCode = z
  .enum([
    "executor_unavailable",
    "config_invalid",
    "credential_missing",
    "auth_failed",
    "quota_exceeded",
    "rate_limited",
    "model_not_found",
    "context_overflow",
    "invalid_request",
    "content_blocked",
    "output_limit",
    "provider_error",
    "network_error",
    "provider_timeout",
    "permission_denied",
    "sandbox_unavailable",
    "resume_degraded",
    "start_timeout",
    "idle_timeout",
    "turn_timeout",
    "storage_error",
    "resources_exhausted",
    "crashed",
    "output_incomplete",
    "daemon_stopped",
    "unknown",
  ])
  .meta({ id: "FailureCode", description: "Why a turn did not complete." });
export type FailureCode = z.infer<typeof FailureCode>;

/** What a person can do about a failure. */
export const UserAction = z
  .enum(["none", "retry", "settings", "credentials", "billing", "shorten", "operator"])
  .meta({ id: "UserAction", description: "What helps: who has to do something before the turn can succeed." });
export type UserAction = z.infer<typeof UserAction>;

/** One quoted line that decided a failure: limited and without secrets. `line` is 1-based in the file of `source`. */
export const Evidence = z
  .strictObject({
    source: z
      .enum(["stdout", "stderr", "exit", "turnd"])
      .describe("Where it stands: a file of the turn, the exit of its process, or turnd's own act."),
    line: z.int().positive().optional().describe("1-based line of that file."),
    text: z.string().describe("The line, limited and without secrets."),
  })
  .meta({ id: "Evidence", description: "One quoted line that decided how a turn ended." });
export type Evidence = z.infer<typeof Evidence>;

/** Why a turn did not complete, as part of its result. */
export const Failure = z
  .strictObject({
    code: FailureCode,
    message: z.string().meta({ description: "One sentence a person can act on." }),
    retryable: z.boolean().meta({ description: "Whether the same turn may succeed later without any change." }),
    user_action: UserAction,
    evidence: z.array(Evidence).describe("The lines that decided."),
  })
  .meta({ id: "Failure", description: "Why a turn did not complete, and what helps." });
export type Failure = z.infer<typeof Failure>;

/** What a code means to a runtime that has to decide. */
export interface FailureAdvice {
  readonly retryable: boolean;
  readonly userAction: UserAction;
  /** Completes the sentence "The turn failed because …". */
  readonly meaning: string;
  /** Completes a message with what a person can do. */
  readonly remedy: string;
}

/** The one table over the closed list: retry, ask a person, or give up. */
export const FAILURE_ADVICE: Readonly<Record<FailureCode, FailureAdvice>> = {
  executor_unavailable: {
    retryable: false,
    userAction: "operator",
    meaning: "the CLI is missing, cannot start, or its provider does not speak the API it needs",
    remedy: "have the operator fix the CLI's installation or its provider settings",
  },
  config_invalid: {
    retryable: false,
    userAction: "settings",
    meaning: "the CLI's configuration is not valid",
    remedy: "correct the CLI's configuration",
  },
  credential_missing: {
    retryable: false,
    userAction: "credentials",
    meaning: "no API key is set",
    remedy: "set the provider's API key",
  },
  auth_failed: {
    retryable: false,
    userAction: "credentials",
    meaning: "the provider refused the API key (401, 403)",
    remedy: "set an API key that the provider accepts",
  },
  quota_exceeded: {
    retryable: false,
    userAction: "billing",
    meaning: "the account has no quota or credit left",
    remedy: "raise the quota or add credit at the provider",
  },
  rate_limited: {
    retryable: true,
    userAction: "retry",
    meaning: "the provider limits the rate of requests (429)",
    remedy: "send the turn again later",
  },
  model_not_found: {
    retryable: false,
    userAction: "settings",
    meaning: "the provider does not know the model",
    remedy: "choose a model that the provider has",
  },
  context_overflow: {
    retryable: false,
    userAction: "shorten",
    meaning: "the conversation is longer than the model's context",
    remedy: "shorten the input or start a new session",
  },
  invalid_request: {
    retryable: false,
    userAction: "settings",
    meaning: "the provider or the CLI refused the request as malformed",
    remedy: "correct the request or the setting it comes from",
  },
  content_blocked: {
    retryable: false,
    userAction: "none",
    meaning: "a content filter or policy blocked the answer",
    remedy: "word the input differently",
  },
  output_limit: {
    retryable: false,
    userAction: "shorten",
    meaning: "the answer reached the model's output limit",
    remedy: "ask for a shorter answer or raise the model's output limit",
  },
  provider_error: {
    retryable: true,
    userAction: "retry",
    meaning: "the provider failed (5xx, overloaded, malformed answer)",
    remedy: "send the turn again later",
  },
  network_error: {
    retryable: true,
    userAction: "retry",
    meaning: "the provider could not be reached or the connection broke",
    remedy: "send the turn again, and check the provider's address and the network if it fails again",
  },
  provider_timeout: {
    retryable: true,
    userAction: "retry",
    meaning: "the provider did not answer in time",
    remedy: "send the turn again later",
  },
  permission_denied: {
    retryable: false,
    userAction: "settings",
    meaning: "a tool needed a permission that was not granted",
    remedy: "allow it in the settings or ask for work that does not need it",
  },
  sandbox_unavailable: {
    retryable: false,
    userAction: "operator",
    meaning: "the CLI's own sandbox cannot work on this machine and the mode needs it",
    remedy: "have the operator make the CLI's sandbox work or switch it off",
  },
  resume_degraded: {
    retryable: false,
    userAction: "none",
    meaning: "the native session could not be continued",
    remedy: "start a new session, or let the turn go on without the old one (resume_policy continue)",
  },
  start_timeout: {
    retryable: true,
    userAction: "retry",
    meaning: "the CLI printed nothing within the start timeout",
    remedy: "send the turn again",
  },
  idle_timeout: {
    retryable: true,
    userAction: "retry",
    meaning: "the CLI printed nothing within the idle timeout",
    remedy: "send the turn again, with a longer idle_timeout_ms where silence is expected",
  },
  turn_timeout: {
    retryable: false,
    userAction: "shorten",
    meaning: "the turn ran longer than its timeout",
    remedy: "ask for less in one turn or give it a longer timeout_ms",
  },
  storage_error: {
    retryable: false,
    userAction: "operator",
    meaning: "a disk is full or not writable, or the output limit was reached",
    remedy: "have the operator make room on the disk or make it writable",
  },
  resources_exhausted: {
    retryable: true,
    userAction: "retry",
    meaning:
      "the sandbox had no process, memory or file descriptor left to start the CLI, or the CLI was killed at the turn's own limit of memory",
    remedy:
      "end the turn or the shell that uses them, or have the operator raise the sandbox's limits, and send the turn again",
  },
  crashed: { retryable: true, userAction: "retry", meaning: "the CLI ended abnormally", remedy: "send the turn again" },
  output_incomplete: {
    retryable: true,
    userAction: "retry",
    meaning: "the CLI ended without proof that the turn was completed",
    remedy: "send the turn again",
  },
  daemon_stopped: {
    retryable: true,
    userAction: "retry",
    meaning: "turnd or the sandbox stopped while the turn ran",
    remedy: "send the turn again",
  },
  unknown: {
    retryable: false,
    userAction: "operator",
    meaning: "nothing in the CLI's output shows why",
    remedy: "have the operator look at the turn's recording",
  },
};
