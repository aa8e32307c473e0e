import { expect, test } from "vitest";
import { z } from "zod";
import * as protocol from "../../../../src/turnd/protocol/index.ts";
import { DESCRIPTION, examplesOf, OPERATIONS, schemaOf, SHARED_EXAMPLES } from "../../../harness/described-bodies.ts";

function fault(schema: z.ZodType, example: unknown): string[] {
  const { error } = schema.safeParse(example);
  return error === undefined ? [] : [`${z.prettifyError(error)}: ${JSON.stringify(example)}`];
}

test("every operation has a name of its own, a text, and a group that is described", () => {
  const names = OPERATIONS.map(({ operationId }) => operationId);
  expect(names).not.toContain(undefined);
  expect(new Set(names).size).toBe(OPERATIONS.length);
  const groups = z.array(z.object({ name: z.string(), description: z.string() })).parse(DESCRIPTION["tags"]);
  for (const { route, description, tags } of OPERATIONS) {
    expect([route, description]).toEqual([route, expect.stringMatching(/.{10}/)]);
    expect(groups.map(({ name }) => name)).toEqual(expect.arrayContaining(tags ?? ["none"]));
  }
});

test("every JSON body, answer and refusal has examples, and turnd's own schemas take each of them", () => {
  const faults: string[] = [];
  let count = 0;
  for (const { route, requestBody, responses } of OPERATIONS) {
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
  const shown = Object.entries(SHARED_EXAMPLES).flatMap(([name, { value }]) =>
    name.endsWith("Event") && name !== "SlimEvent" ? [protocol.LoggedEvent.parse(value)] : [],
  );
  expect(shown.map(({ type }) => type)).toEqual(types);
  const streams = OPERATIONS.flatMap(({ responses }) => {
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
  const ofRoutes = OPERATIONS.flatMap(({ responses }) =>
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
  const others = DESCRIPTION.components.schemas["Problem"]?.examples ?? [];
  const codes = [...ofRoutes, ...others.map((example) => protocol.Problem.parse(example).detail.code)];
  expect([...new Set(codes)].toSorted()).toEqual([...protocol.ProblemCode.options].toSorted());
});

test("every choice between components says by which field it is made", () => {
  const choices = Object.entries(DESCRIPTION.components.schemas).filter(([, { oneOf }]) => oneOf !== undefined);
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

test("no field of a body has a default, and none that has one in src/turnd/protocol is required", () => {
  const text = JSON.stringify(DESCRIPTION.components.schemas);
  // As a keyword, which has a value beside a type or a reference: no field is called so.
  expect(text).not.toContain('"default":');
  const required = (name: string): unknown => DESCRIPTION.components.schemas[name]?.required;
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
  const types = OPERATIONS.flatMap(({ parameters = [] }) =>
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
