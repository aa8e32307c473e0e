import type { FastifyInstance, RouteOptions } from "fastify";
import type { z } from "zod";

/** The answer of a route for all its refusals of one status: what the description shows, and the codes behind it. */
export interface Refusal<Code extends string = string> {
  readonly description: string;
  readonly content: { readonly "application/json": { readonly schema: z.ZodType } };
  readonly codes: readonly Code[];
}

/** How a program's refusals are described. */
export interface RefusalRules<Code extends string> {
  readonly statusOf: Readonly<Record<Code, number>>;
  /** The body of a refusal of this status. */
  schemaOf(status: number): z.ZodType;
  /** The description where a status has no code, such as that of a request that does not validate. */
  readonly withoutCode: string;
}

/** The response schemas for these codes, by status. */
export function groupRefusals<Code extends string>(
  codes: Iterable<Code>,
  { statusOf, schemaOf, withoutCode }: RefusalRules<Code>,
  also: readonly number[] = [],
): Record<number, Refusal<Code>> {
  const byStatus = Map.groupBy(new Set(codes), (code) => statusOf[code]);
  for (const status of also) if (!byStatus.has(status)) byStatus.set(status, []);
  return Object.fromEntries(
    [...byStatus].map(([status, all]) => [
      status,
      {
        description: all.length === 0 ? withoutCode : all.map((code) => `\`${code}\``).join(", "),
        content: { "application/json": { schema: schemaOf(status) } },
        codes: all,
      },
    ]),
  );
}

/** What a route's method, body or guard adds to the codes that it names itself, and takes from them. */
export interface ImpliedCodes<Code extends string> {
  readonly added: readonly Code[];
  readonly removed: readonly Code[];
}

/** Completes the refusals of each route that is registered from now on. */
export function completeRefusals<Code extends string>(
  app: FastifyInstance,
  rules: RefusalRules<Code>,
  implied: (route: RouteOptions) => ImpliedCodes<Code>,
): void {
  app.addHook("onRoute", (route) => {
    const { schema } = route;
    if (schema === undefined || schema.hide === true || typeof schema.response !== "object") return;
    const answers = Object.entries(schema.response ?? {});
    const refused = answers.filter(([, answer]) => isRefusal(answer));
    // A route that answers no refusal at all, such as a page, is not one of the API's.
    if (refused.length === 0) return;
    const { added, removed } = implied(route);
    const named = refused.flatMap(([, answer]) => readCodes(answer, rules));
    const codes = [...named, ...added].filter((code) => !removed.includes(code));
    const others = answers.filter(([, answer]) => !isRefusal(answer));
    const bare = refused.flatMap(([status, answer]) => (readCodes(answer, rules).length === 0 ? [Number(status)] : []));
    route.schema = { ...schema, response: { ...groupRefusals(codes, rules, bare), ...Object.fromEntries(others) } };
  });
}

function readCodes<Code extends string>(answer: unknown, { statusOf }: RefusalRules<Code>): Code[] {
  return isRefusal(answer) ? answer.codes.filter((code): code is Code => Object.hasOwn(statusOf, code)) : [];
}

/** Whether an answer of a route's schema is one of those. */
export function isRefusal(answer: unknown): answer is Refusal {
  return typeof answer === "object" && answer !== null && "codes" in answer && Array.isArray(answer.codes);
}
