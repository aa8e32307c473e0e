import { PROBLEM_STATUS, Problem, type ProblemCode } from "../../protocol/index.ts";

type StatusOf<C extends ProblemCode> = (typeof PROBLEM_STATUS)[C];

interface Refusal {
  readonly description: string;
  readonly content: { readonly "application/json": { readonly schema: typeof Problem } };
}

/** What any route may answer. */
const ALWAYS = ["unauthorized", "forbidden_origin", "invalid_request", "internal_error"] as const;

/** The response schemas of a route's refusals, by status; each description names the codes behind it. */
export function refusals<C extends ProblemCode = never>(
  ...codes: readonly C[]
): Record<StatusOf<C | (typeof ALWAYS)[number]>, Refusal>;
export function refusals(...codes: readonly ProblemCode[]): Record<number, Refusal> {
  const byStatus = Map.groupBy(new Set<ProblemCode>([...codes, ...ALWAYS]), (code) => PROBLEM_STATUS[code]);
  const content = { "application/json": { schema: Problem } };
  return Object.fromEntries(
    [...byStatus].map(([status, all]) => [
      status,
      { description: all.map((code) => `\`${code}\``).join(", "), content },
    ]),
  );
}
