import { PROBLEM_STATUS, Problem, ProblemCode } from "../../protocol/index.ts";

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

/** The codes that the description of such an answer names; none for an answer that refuses nothing. */
export function readCodes(description: string): ProblemCode[] {
  return [...description.matchAll(/`(\w+)`/g)].flatMap(([, code]) => {
    const parsed = ProblemCode.safeParse(code);
    return parsed.success ? [parsed.data] : [];
  });
}
