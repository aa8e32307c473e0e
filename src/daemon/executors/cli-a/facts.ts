import { z } from "zod";
import type { Fact } from "../rules.ts";
import type { ModelError } from "./log-line.ts";
import type { CliAError } from "./record.ts";

/** Names of facts that are no error record: rules ask for them. */
export const FINISH = "step_finish";
export const FINISH_EMPTY = "step_finish without content";
export const REJECTED_TOOL = "auto-rejected tool";
export const USAGE_TEXT = "usage text";
export const REJECTED_ASK = "auto-rejected permission";
export const REQUEST_FAILED = "failed request";
export const START_UP = "start-up message";
export const START_UP_OF_RESUME = "start-up message of a resume";
export const AFTER_COMPLETION = "after the last step";
export const WITHOUT_COMPLETION = "without a last step";

const word = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined);
const Body = z.object({
  error: z
    .object({ code: word, type: word, message: z.string().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  code: word,
  type: word,
});
const MAX_BODY_CHARACTERS = 300;

/** An `error` record as something rules can look at. */
export function toErrorFact({ name, data }: CliAError, line: number): Fact {
  return {
    on: "record",
    source: "stdout",
    line,
    name,
    ...describe([data.message === "" ? name : data.message], data.statusCode, data.responseBody),
  };
}

/** A failed request of the log, under the name of its own so that no rule for plain text is tried on it. */
export function toRequestFact(error: ModelError, line: number): Fact {
  const reason = error.cause?.code ?? error.code;
  const said = [error.name, error.statusCode?.toString(), error.message, reason].filter((part) => part !== undefined);
  const fact = { on: "stderr", source: "stderr", line, name: REQUEST_FAILED } as const;
  // A line that was cut: that a request failed is known all the same.
  if (said.length === 0) return { ...fact, text: "a request to the model failed", words: "service=llm" };
  return { ...fact, ...describe(said, error.statusCode, error.responseBody) };
}

function describe(
  parts: readonly string[],
  status: number | undefined,
  body: string | undefined,
): Pick<Fact, "text" | "words" | "status" | "code"> {
  const { code, said } = readBody(body);
  const message = parts.join(" ");
  const unsaid = said === undefined || said === "" || message.includes(said) ? [] : [said];
  return {
    text: [message, ...unsaid].join(": "),
    // The parts stand apart in the line.
    words: [...parts, ...unsaid].join(" … "),
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
  };
}

function readBody(body: string | undefined): { code?: string | undefined; said?: string | undefined } {
  if (body === undefined || body === "") return {};
  try {
    const { error, code, type } = Body.parse(JSON.parse(body));
    const words = [error?.code ?? code, error?.type ?? type].filter((part) => part !== undefined);
    return { code: words.join(" "), said: error?.message };
  } catch {
    // Not a JSON body: a proxy's page, of which the beginning says enough.
    return { said: body.slice(0, MAX_BODY_CHARACTERS) };
  }
}
