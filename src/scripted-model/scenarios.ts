import type { Scenario } from "./reply.ts";
import { big, echo, reasoning, recall, text } from "./scenarios/answers.ts";
import {
  cut,
  cutThenOk,
  endingIn,
  failingWith,
  hang,
  headersHang,
  html,
  noApi,
  stall,
  status,
  statusThenOk,
} from "./scenarios/faults.ts";
import { assistant } from "./scenarios/assistant.ts";
import { program } from "./scenarios/program.ts";
import { edit, goal, many, mcp, sleep, todo, toolFail, toolOk } from "./scenarios/tools.ts";

/** Played when no marker names another. */
export const DEFAULT_SCENARIO = "assistant";

/** Every scenario by its name in a marker `@@name@@` or `@@name:argument@@` of a user text. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  assistant,
  program,
  text,
  echo,
  big,
  reasoning,
  recall,
  "tool-ok": toolOk,
  "tool-fail": toolFail,
  edit,
  sleep,
  todo,
  goal,
  mcp,
  many,
  status,
  "status-then-ok": statusThenOk,
  "no-api": noApi,
  hang,
  "headers-hang": headersHang,
  stall,
  cut,
  "cut-then-ok": cutThenOk,
  html,
  "no-finish": endingIn("none"),
  length: endingIn("length"),
  "content-filter": endingIn("content-filter"),
  "stream-error": endingIn({ code: "server_error", message: "The server had an error in the middle of the answer." }),
  "context-overflow": failingWith(400, {
    code: "context_length_exceeded",
    message:
      "prompt is too long: this model's maximum context length is 128000 tokens, but the messages come to 210000 tokens.",
  }),
  quota: failingWith(429, {
    code: "insufficient_quota",
    message: "You exceeded your current quota, please check your plan and billing details.",
  }),
  "rate-limit": failingWith(429, {
    code: "rate_limit_exceeded",
    message: "Rate limit reached for requests. Please try again in 2s.",
  }),
};
