import { quote } from "../../classification/rules.ts";
import { SANDBOX_MISSING, SANDBOX_MISSING_REMEDY } from "../records/sandbox-fault.ts";
import type { FailureRule } from "../../contract/failures.ts";

/** What CLI B says of itself, not of an answer. Source: docs/contracts/cli-b.md §7. */
export const OWN_RULES: readonly FailureRule[] = [
  {
    // Its own words before the provider's, which may speak of a quota per minute.
    id: "rate-own",
    on: "record",
    pattern: /^rate limit exceeded: /,
    code: "rate_limited",
    message: (fact) => `The provider limits the rate of requests: ${quote(fact)}`,
    seenIn: "cli-b/0.169.0/rate-limited-in-stream",
  },
  {
    id: "quota-own",
    on: "record",
    pattern: /^Quota exceeded\. Check your plan/,
    code: "quota_exceeded",
    message: (fact) => `The provider says that the account's quota is used up: ${quote(fact)}`,
    seenIn: "cli-b/0.169.0/quota-exceeded",
  },
  {
    id: "blocked-by-cloudflare",
    on: "record",
    status: [403],
    pattern: /^Access blocked by Cloudflare/,
    code: "auth_failed",
    message: "A page of Cloudflare blocked the request before it came to the provider (403).",
    remedy: "correct the provider's address, or have this network allowed",
    seenIn: "cli-b/0.169.0/blocked-by-cloudflare",
  },
  {
    id: "usage-limit",
    on: "record",
    pattern: /hit your (?:\w+ )?usage limit|upgrade to (?:Plus|Pro)\b/,
    code: "quota_exceeded",
    message: (fact) => `The account's usage limit is reached: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/usage-limit",
  },
  {
    id: "missing-key-variable",
    on: "record",
    pattern: /^Missing environment variable: /,
    code: "credential_missing",
    message: (fact) => `The variable that holds the provider's key is not set: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/key-variable-missing",
  },
  {
    id: "base-url-invalid",
    on: "record",
    pattern: /: builder error/,
    code: "config_invalid",
    message: "The provider's base_url is not a URL.",
    remedy: "correct CLI_B_BASE_URL",
    seenIn: "cli-b/0.139.0/base-url-invalid",
  },
  {
    id: "sandbox-missing",
    on: "record",
    pattern: SANDBOX_MISSING,
    code: "sandbox_unavailable",
    message: (fact) => `CLI B's sandbox is not installed: ${quote(fact)}`,
    remedy: SANDBOX_MISSING_REMEDY,
    seenIn: "docs/contracts/cli-b.md §7",
  },
  {
    // What a command in the sandbox did is no word about the sandbox, but for what creates it.
    id: "sandbox-error",
    on: "record",
    pattern:
      /linux-sandbox was required but not provided|seccomp setup error|Landlock was not able to fully enforce|^(?:sandbox error: [^]{0,400})?bwrap: /,
    code: "sandbox_unavailable",
    message: (fact) => `CLI B's sandbox cannot work here: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §7",
  },
  {
    id: "sandbox-denied",
    on: "record",
    pattern: /^(?:sandbox error: )?sandbox denied exec error/,
    code: "permission_denied",
    message: (fact) => `CLI B's sandbox denied a command: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §7",
  },
  {
    id: "thread-unknown",
    on: "record",
    pattern: /^no thread with id: /,
    code: "resume_degraded",
    message: (fact) => `CLI B does not know the thread: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §7",
  },
  {
    id: "agent-limit",
    on: "record",
    pattern: /^agent thread limit reached/,
    code: "invalid_request",
    message: (fact) => `CLI B runs no more sub-agents at once: ${quote(fact)}`,
    remedy: "ask for fewer at once or have the operator raise the limit in CLI_B_CONFIG_TOML",
    seenIn: "docs/contracts/cli-b.md §7",
  },
  {
    id: "image-refused",
    on: "record",
    pattern: /^(?:Image poisoning|Invalid image in your last message)/,
    code: "invalid_request",
    message: (fact) => `An image cannot be used: ${quote(fact)}`,
    remedy: "leave it out or send another",
    seenIn: "cli-b/0.169.0/image-invalid",
  },
  {
    id: "operation-unsupported",
    on: "record",
    pattern: /^unsupported operation: /,
    code: "invalid_request",
    message: (fact) => `CLI B cannot do what it was asked for: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §7",
  },
  {
    // Whoever sent the signal: where turnd did, that is what ended the turn.
    id: "interrupted",
    on: "record",
    pattern: /^interrupted \(Ctrl-C\)/,
    code: "crashed",
    message: "Something outside turnd interrupted CLI B.",
    seenIn: "docs/contracts/cli-b.md §7",
    isProven: false,
  },
  {
    id: "agent-died",
    on: "record",
    pattern:
      /agent loop died unexpectedly|turn aborted\. Something went wrong|^Fatal error: |^spawn failed: |^timeout waiting for child process to exit|^sandbox error: /,
    code: "crashed",
    message: (fact) => `CLI B gave up: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §7",
  },
];
