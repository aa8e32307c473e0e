import type { SwaggerTransform } from "@fastify/swagger";
import { jsonSchemaTransform } from "fastify-type-provider-zod";
import { isRefusal } from "../refusals.ts";
import type { Operation } from "./document.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Headers that the description of the route names, each with what it is for. */
    describedHeaders?: Readonly<Record<string, string>>;
  }
}

/** What a route says of itself beyond what the description has a place for. */
export interface RouteFacts {
  /** The codes of its refusals, by status. */
  readonly codes: Readonly<Record<string, readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
}

const FACTS = "x-facts";

/** Describes a route, and takes its facts along, which {@link takeFacts} reads. */
export const describeRoute: SwaggerTransform = (input) => {
  const { schema, url } = jsonSchemaTransform(input);
  const answers = Object.entries(input.schema?.response ?? {});
  const codes = answers.flatMap(([status, answer]) => (isRefusal(answer) ? [[status, answer.codes] as const] : []));
  const facts: RouteFacts = {
    codes: Object.fromEntries(codes),
    headers: input.route.config?.describedHeaders ?? {},
  };
  return { schema: { ...schema, [FACTS]: facts }, url };
};

/** The facts of an operation, and the operation without them. */
export function takeFacts(operation: Operation): { readonly facts: RouteFacts; readonly operation: Operation } {
  const { [FACTS]: facts, ...rest } = operation;
  return { facts: isFacts(facts) ? facts : { codes: {}, headers: {} }, operation: rest };
}

function isFacts(value: unknown): value is RouteFacts {
  return typeof value === "object" && value !== null && "codes" in value && "headers" in value;
}
