import { brotliCompressSync } from "node:zlib";
import type { FailureCode } from "../../../../src/protocol/index.ts";
import type { CliBCase } from "./case.ts";
import { broken, failed, incomplete, page, refusal, type Reply } from "./replies.ts";

const fails = (name: string, code: FailureCode, why: string, reply: Reply): CliBCase => ({
  name,
  label: { status: "failed", code, why },
  replies: [reply],
});

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
  {
    ...fails("override-malformed", "config_invalid", "-c without a value", page(500, "")),
    args: (args) => [...args.slice(0, 1), "-c", "model", ...args.slice(1)],
  },
];
