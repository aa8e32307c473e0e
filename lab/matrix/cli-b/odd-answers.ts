import { brotliCompressSync } from "node:zlib";
import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import type { CliBCase } from "./case.ts";
import { broken, failed, incomplete, page, refusal, type Reply } from "./replies.ts";

const fails = (name: string, code: FailureCode, why: string, reply: Reply): CliBCase => ({
  name,
  label: { status: "failed", code, why },
  replies: [reply],
});

/** Refusals whose status leaves the cause open, in sentences of no maker. */
const IN_PROSE = [
  ["quota", 400, "quota_exceeded", "Wallet is empty."],
  ["content", 400, "content_blocked", "Potential self-harm content detected."],
  ["context", 400, "context_overflow", "Message history of 412 entries totals 260123 tokens; the ceiling is 200000."],
  ["model", 400, "model_not_found", "m1 is not one of the models that this endpoint serves."],
  ["key", 400, "auth_failed", "This API key was rotated; use the newest one."],
  ["quota-403", 403, "quota_exceeded", "Invoice 2231 has not been paid. Access is paused."],
  ["content-403", 403, "content_blocked", "Explicit material is not welcome here."],
  ["model-404", 404, "model_not_found", "There is no model called m1."],
] as const;

/** Answers that a provider gives seldom, and what stands between. Each showed something that no rule knew. */
export const ODD_ANSWERS: readonly CliBCase[] = [
  fails(
    "proxy-wants-login",
    "auth_failed",
    "407 of a proxy",
    page(407, "<html><head><title>407 Proxy Authentication Required</title></head></html>"),
  ),
  fails(
    "bad-request-unreadable",
    "invalid_request",
    "400 in an encoding that the CLI did not ask for",
    page(400, brotliCompressSync(JSON.stringify({ error: { message: "A field of the request is missing." } })), {
      "content-type": "application/json",
      "content-encoding": "br",
    }),
  ),
  fails("answer-incomplete", "provider_error", "incomplete for a reason of its own", broken(incomplete("paused"))),
  fails(
    "request-refused-in-stream",
    "invalid_request",
    "a parameter is refused inside a stream",
    broken(failed("invalid_request_error", "Unknown parameter: 'include[2]'.")),
  ),
  fails(
    "output-flagged",
    "content_blocked",
    "400 with the code of a content policy: the CLI leaves the bare sentence",
    refusal(400, { message: "The tool's output was flagged.", code: "content_policy_violation" }),
  ),
  ...IN_PROSE.map(([name, status, code, message]) =>
    fails(`refused-in-prose-${name}`, code, `${status} in a sentence of no maker`, refusal(status, { message })),
  ),
  fails("model-gone", "model_not_found", "410", refusal(410, { message: "m1 is gone." })),
  fails(
    "bad-request-odd",
    "invalid_request",
    "400 with plain words that say nothing",
    page(400, "We could not make sense of this.", { "content-type": "text/plain" }),
  ),
  {
    ...fails("override-malformed", "config_invalid", "-c without a value", page(500, "")),
    args: (args) => [...args.slice(0, 1), "-c", "model", ...args.slice(1)],
  },
  {
    ...fails("setting-gone", "config_invalid", "a value of the operator's that 0.169.0 has no more", page(500, "")),
    args: (args) => args.map((word) => (word === 'approval_policy="never"' ? 'approval_policy="untrusted"' : word)),
  },
];
