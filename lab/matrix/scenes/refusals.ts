import { ANSWERS } from "../../../test/turnd/daemon/executors/answers/answers.ts";
import { toText } from "../../../test/turnd/daemon/executors/answers/answer.ts";
import { http, JSON_TYPE } from "../reply.ts";
import { fails, type Scene } from "../scene.ts";
import { TWO_FAILURES } from "./parts.ts";

/** The table of answers: every way in which a provider is known to refuse a request. */
export const REFUSALS: readonly Scene[] = ANSWERS.map((answer) => {
  const { name, status, body, code, cliB, also } = answer;
  const reply = http(status, toText(answer), typeof body === "string" ? undefined : JSON_TYPE);
  return fails(name, code, `${status}, ${code}`, reply, {
    also,
    cliA: { stop: TWO_FAILURES, ...(name.startsWith("anthropic-") ? { api: "messages" } : {}) },
    // What the provider meant is right too where 0.139.0 kept it from turnd.
    cliB: { code: cliB, also: [code, ...also] },
  });
});
