import { Problem, ValidationError } from "../protocol/common.ts";
import { PROBLEM_STATUS, type ProblemCode } from "../protocol/problems.ts";
import { z } from "zod";

type StatusOf<C extends ProblemCode> = (typeof PROBLEM_STATUS)[C];

interface Refusal {
  readonly description: string;
  readonly content: { readonly "application/json": { readonly schema: z.ZodType } };
}

/** What any route may answer. */
const ALWAYS = [
  "unauthorized",
  "forbidden_host",
  "forbidden_origin",
  "rate_limited",
  "internal_error",
  "not_ready",
] as const;
const Unprocessable = z.union([ValidationError, Problem]);

/** The response schemas of a route's refusals, by status; each description names the codes behind it. */
export function refusals<C extends ProblemCode = never>(
  ...codes: readonly C[]
): Record<StatusOf<C | (typeof ALWAYS)[number]> | 422, Refusal>;
export function refusals(...codes: readonly ProblemCode[]): Record<number, Refusal> {
  const byStatus = Map.groupBy(new Set<ProblemCode>([...codes, ...ALWAYS]), (code) => PROBLEM_STATUS[code]);
  const answers: Record<number, Refusal> = {
    422: { description: NOT_VALID, content: { "application/json": { schema: Unprocessable } } },
  };
  for (const [status, all] of byStatus) {
    const schema = status === 422 ? Unprocessable : Problem;
    answers[status] = { description: describeCodes(all), content: { "application/json": { schema } } };
  }
  return answers;
}

const NOT_VALID = "The request does not validate.";

/** The description of an answer that refuses, by its codes. */
export function describeCodes(codes: readonly ProblemCode[]): string {
  return codes.map((code) => `\`${code}\``).join(", ");
}

/** The codes of such a description; none for an answer that refuses nothing. */
export function readCodes(description: string): ProblemCode[] {
  return [...description.matchAll(/`(\w+)`/g)].flatMap(([, code = ""]) => (isCode(code) ? [code] : []));
}

function isCode(code: string): code is ProblemCode {
  return code in PROBLEM_STATUS;
}
