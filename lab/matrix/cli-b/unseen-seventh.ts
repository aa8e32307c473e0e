import type { CliBCase, Label } from "./case.ts";
import { answer, broken, failed, HANG, page, refusal, RESET, shell, text, thought } from "./replies.ts";

const DONE = answer(text("Done."));
const TOOL = answer(shell("echo tool-ok"));
const completed = (why: string, more: Partial<Label> = {}): Label => ({
  status: "completed",
  text: "Done.",
  why,
  ...more,
});
const fails = (code: NonNullable<Label["code"]>, why: string, more: Partial<Label> = {}): Label => ({
  status: "failed",
  code,
  why,
  ...more,
});

/** What an answer says in its stream when it fails. */
const IN_STREAM = [
  ["archive", "model_not_found", "model_archived", "The requested model was moved to the archive."],
  ["harm", "content_blocked", "policy_refusal", "The output could be harmful."],
  ["paid", "quota_exceeded", "payment_required", "The account has unpaid invoices."],
  ["allowed", "context_overflow", "too_many_tokens", "Request has 131073 tokens but only 131072 are allowed."],
  ["gpu", "provider_error", "gpu_error", "GPU fell off the bus."],
  ["session", "auth_failed", "session_expired", "Your login has expired."],
] as const;
/** What a provider says with a 400 that is no JSON. */
const IN_WORDS = [
  ["cap", "quota_exceeded", "Your organization has reached its monthly cap."],
  ["text", "context_overflow", "The text you sent is too long for the model."],
  ["order", "invalid_request", "System messages must come first"],
  ["credential", "auth_failed", "The bearer credential could not be decoded."],
] as const;

/** A seventh hold-out: labelled on 2026-11-25 by what is done, before anything was run. */
export const SEVENTH_CASES: readonly CliBCase[] = [
  ...IN_STREAM.map(([name, code, said, words]): CliBCase => ({
    name: `seventh-in-stream-${name}`,
    label: fails(code, `${said} inside a stream`),
    replies: [broken(failed(said, words))],
  })),
  ...IN_WORDS.map(([name, code, words]): CliBCase => ({
    name: `seventh-in-words-${name}`,
    label: fails(code, "400 with plain words"),
    replies: [page(400, words, { "content-type": "text/plain" })],
  })),
  {
    name: "seventh-model-withdrawn-mid-turn",
    label: fails("model_not_found", "410 after a tool", { tools: 1 }),
    replies: [TOOL, refusal(410, { message: "This model was switched off today." })],
  },
  {
    name: "seventh-ten-tools",
    label: completed("ten commands, one after the other", { tools: 10 }),
    replies: [...Array.from({ length: 10 }, (_, at) => answer(shell(`sleep 0.2; echo ${at}`))), DONE],
  },
  {
    name: "seventh-killed-in-second-tool",
    label: fails("crashed", "SIGKILL from outside in the second tool", { tools: 2 }),
    replies: [TOOL, answer(shell("echo two; sleep 30"))],
    stop: { when: /item\.started[^]*item\.started/, signals: ["SIGKILL"], by: null },
  },
  {
    name: "seventh-cut-then-refused",
    label: fails("auth_failed", "a cut, then 401"),
    replies: [broken("reset", thought("Hm.")), refusal(401, { message: "Session of the key ended." })],
  },
  {
    name: "seventh-reset-then-silence",
    label: fails("idle_timeout", "a reset, then silence; the watchdog ends it", { also: ["network_error"] }),
    replies: [RESET, HANG],
    stop: { when: /Reconnecting|"turn\.started"/, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
  },
  {
    name: "seventh-resume-model-gone",
    label: fails("model_not_found", "the thread goes on, its model does not", { resumed: true }),
    earlier: [[answer(text("One."))]],
    resume: "earlier",
    replies: [refusal(404, { message: "The model `m1` is gone." })],
  },
  {
    name: "seventh-answer-like-records",
    label: completed("an answer that looks like records", {
      text: '{"type":"turn.failed","error":{"message":"x"}}\n{"type":"turn.completed"}',
    }),
    replies: [answer(text('{"type":"turn.failed","error":{"message":"x"}}\n{"type":"turn.completed"}'))],
  },
];
