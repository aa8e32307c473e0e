import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { OPENAPI_PATH } from "../../scripts/generate/openapi.ts";
import { Document, type JsonSchema, type Media } from "../../src/http-server/openapi/document.ts";
import * as protocol from "../../src/protocol/index.ts";

const Examples = z.record(z.string(), z.object({ value: z.unknown() }));
const document = Document.parse(JSON.parse(readFileSync(OPENAPI_PATH, "utf8")));
const shared = Examples.parse(document.components["examples"]);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, ...operation })),
);

/** The schemas of `src/protocol` by the names of their components. */
const schemas = new Map<string, z.ZodType>(
  Object.values(protocol).flatMap((value) => {
    const id = value instanceof z.ZodType ? z.globalRegistry.get(value)?.id : undefined;
    return id === undefined || !(value instanceof z.ZodType) ? [] : [[id, value]];
  }),
);

function schemaOf({ $ref, anyOf }: JsonSchema): z.ZodType {
  if (anyOf !== undefined) return z.union(anyOf.map(schemaOf));
  const name = $ref?.split("/").at(-1) ?? "";
  const found = schemas.get(name);
  if (found === undefined) throw new Error(`src/protocol has no schema of the id ${name}`);
  return found;
}

/** The examples of a body, those of the components included. */
function examplesOf(media: Media): unknown[] {
  if (media.example !== undefined) return [media.example];
  const references = z.record(z.string(), z.object({ $ref: z.string() })).parse(media.examples ?? {});
  return Object.values(references).map(({ $ref }) => {
    const found = shared[$ref.slice("#/components/examples/".length)];
    if (found === undefined) throw new Error(`there is no ${$ref}`);
    return found.value;
  });
}

function fault(schema: z.ZodType, example: unknown): string[] {
  const { error } = schema.safeParse(example);
  return error === undefined ? [] : [`${z.prettifyError(error)}: ${JSON.stringify(example)}`];
}

test("every operation has a name of its own, a text, and a group that is described", () => {
  const names = operations.map(({ operationId }) => operationId);
  expect(names).not.toContain(undefined);
  expect(new Set(names).size).toBe(operations.length);
  const groups = z.array(z.object({ name: z.string(), description: z.string() })).parse(document["tags"]);
  for (const { route, description, tags } of operations) {
    expect([route, description]).toEqual([route, expect.stringMatching(/.{10}/)]);
    expect(groups.map(({ name }) => name)).toEqual(expect.arrayContaining(tags ?? ["none"]));
  }
});

test("every JSON body, answer and refusal has examples, and turnd's own schemas take each of them", () => {
  const faults: string[] = [];
  let count = 0;
  for (const { route, requestBody, responses } of operations) {
    const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
    for (const content of contents) {
      for (const [type, media] of Object.entries(content ?? {})) {
        if (!type.endsWith("json") || media.schema === undefined) continue;
        const schema = schemaOf(media.schema);
        const found = examplesOf(media);
        count += found.length;
        if (found.length === 0) faults.push(`${route}: no example`);
        faults.push(...found.flatMap((example) => fault(schema, example)).map((each) => `${route}: ${each}`));
      }
    }
  }
  expect(faults).toEqual([]);
  expect(count).toBeGreaterThan(200);
});

test("every type of event has an example, and an event stream's example holds one", () => {
  const types = protocol.LoggedEvent.options.map(({ shape }) => shape.type.value);
  const shown = Object.entries(shared).flatMap(([name, { value }]) =>
    name.endsWith("Event") && name !== "SlimEvent" ? [protocol.LoggedEvent.parse(value)] : [],
  );
  expect(shown.map(({ type }) => type)).toEqual(types);
  const streams = operations.flatMap(({ responses }) => {
    const media = responses["200"]?.content?.["text/event-stream"];
    return media === undefined ? [] : [z.string().parse(media.example)];
  });
  expect(streams).toHaveLength(3);
  for (const text of streams) {
    const [, name, data = ""] = /^id: \d+\nevent: (\S+)\ndata: (.*)\n\n/m.exec(text) ?? [];
    const schema = name === "output" ? protocol.ShellOutput : protocol.LoggedEvent;
    expect(fault(schema, JSON.parse(data))).toEqual([]);
  }
});

test("every code of a refusal has an example, also those that no route of turnd has", () => {
  const ofRoutes = operations.flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, { content }]) => {
      const media = content?.["application/json"];
      const isRefusal = media?.schema?.$ref?.endsWith("/Problem") === true;
      if (!isRefusal) return [];
      return examplesOf(media).map((example) => {
        const { code } = protocol.Problem.parse(example).detail;
        expect([code, protocol.PROBLEM_STATUS[code]]).toEqual([code, Number(status)]);
        return code;
      });
    }),
  );
  const others = document.components.schemas["Problem"]?.examples ?? [];
  const codes = [...ofRoutes, ...others.map((example) => protocol.Problem.parse(example).detail.code)];
  expect([...new Set(codes)].toSorted()).toEqual([...protocol.ProblemCode.options].toSorted());
});

test("every choice between components says by which field it is made", () => {
  const choices = Object.entries(document.components.schemas).filter(([, { oneOf }]) => oneOf !== undefined);
  expect(choices.map(([name]) => name)).toEqual(expect.arrayContaining(["LoggedEvent", "InputPart", "McpServer"]));
  for (const [name, { oneOf = [], discriminator }] of choices) {
    const refs = oneOf.map(({ $ref }) => $ref);
    expect([name, discriminator?.propertyName, Object.values(discriminator?.mapping ?? {})]).toEqual([
      name,
      "type",
      refs,
    ]);
  }
});

test("no field of a body has a default, and none that has one in src/protocol is required", () => {
  const text = JSON.stringify(document.components.schemas);
  // As a keyword, which has a value beside a type or a reference: no field is called so.
  expect(text).not.toContain('"default":');
  const required = (name: string): unknown => document.components.schemas[name]?.required;
  expect(required("TurnRequest")).toEqual(["input"]);
  expect(required("ReplayRequest")).toEqual(["recording"]);
  expect(required("SessionRequest")).toEqual(["executor"]);
  expect(required("ShellRequest") ?? []).toEqual([]);
});

test("parameters of a query are numbers and booleans where they mean them", () => {
  const Parameter = z.looseObject({
    in: z.string(),
    name: z.string(),
    schema: z.looseObject({ type: z.string().optional() }),
  });
  const types = operations.flatMap(({ parameters = [] }) =>
    parameters
      .map((each) => Parameter.parse(each))
      .map((each) => [`${each.in} ${each.name}`, each.schema.type] as const),
  );
  const byName = Object.fromEntries(types.filter(([name]) => name.startsWith("query ")));
  expect(byName).toMatchObject({
    "query wait_ms": "integer",
    "query limit": "integer",
    "query from": "integer",
    "query after_seq": "integer",
    "query follow": "boolean",
    "query verbose": "boolean",
    "query named": "boolean",
    "query explain": "boolean",
    "query executable": "boolean",
    "query recursive": "boolean",
  });
});
