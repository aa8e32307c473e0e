import { ends, refuse, say } from "../reply.ts";
import { fails, type Scene } from "../scene.ts";
import { BAD_KEY, RESUMED, TOO_LONG, TOOL } from "./parts.ts";

/** What a provider refuses once a tool has run. */
const AFTER_TOOL = (
  [
    ["key", "auth_failed", refuse(401, "Token expired.", "token_expired")],
    ["quota", "quota_exceeded", refuse(402, "Insufficient credits. Add more in the settings.")],
    ["model", "model_not_found", refuse(404, "The model `m` does not exist.", "model_not_found")],
    ["model-gone", "model_not_found", refuse(410, "This model was switched off today.")],
    ["policy", "content_blocked", refuse(400, "The tool's output was flagged.", "content_policy_violation")],
    ["length", "output_limit", ends("length")],
    ["filter", "content_blocked", ends("content-filter")],
    ["context", "context_overflow", refuse(400, TOO_LONG, "context_length_exceeded")],
  ] as const
).map(([name, code, reply]) => fails(`after-tool-${name}`, code, `${code} at the second request`, [TOOL, reply]));

/** The same of a session that goes on. */
const IN_RESUME = (
  [
    ["key", "auth_failed", BAD_KEY],
    ["quota", "quota_exceeded", refuse(402, "The balance of your account is used up.")],
    ["model", "model_not_found", refuse(404, "The model `m` is gone.")],
    ["context", "context_overflow", refuse(400, TOO_LONG, "context_length_exceeded")],
  ] as const
).map(([name, code, reply]) =>
  fails(`resume-refused-${name}`, code, `the session goes on, ${code}`, reply, {
    ...RESUMED([say("Done.")]),
    resumed: true,
  }),
);

/** Refusals in the course of a turn, and of a session. */
export const LATER_REQUESTS: readonly Scene[] = [...AFTER_TOOL, ...IN_RESUME];
