import { expect, test } from "vitest";
import { nameOnce } from "../../../src/kit/http/openapi/components.ts";
import { describeDefaults } from "../../../src/kit/http/openapi/defaults.ts";
import { addDiscriminators } from "../../../src/kit/http/openapi/discriminators.ts";
import { Document, type JsonSchema } from "../../../src/kit/http/openapi/document.ts";
import { createExamples } from "../../../src/kit/http/openapi/examples.ts";

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: Record<string, JsonSchema>, required: readonly string[] = []): JsonSchema => ({
  type: "object",
  properties,
  required,
});

/** A document with one route that accepts the one schema and sends the other. */
function documentOf(
  schemas: Record<string, JsonSchema>,
  { accepted, sent }: { accepted: JsonSchema; sent: JsonSchema },
): Document {
  const content = (schema: JsonSchema) => ({ content: { "application/json": { schema } } });
  return Document.parse({
    paths: {
      "/things": {
        post: {
          parameters: [{ in: "query", name: "limit", schema: { type: "integer", default: 100 } }],
          requestBody: content(accepted),
          responses: { 200: { description: "The thing.", ...content(sent) } },
        },
      },
    },
    components: { schemas },
  });
}

function bodiesOf(document: Document): unknown[] {
  const post = document.paths["/things"]?.["post"];
  const schemaOf = (content: typeof post extends undefined ? never : NonNullable<typeof post>["responses"][string]) =>
    content.content?.["application/json"]?.schema;
  return [
    post?.requestBody?.content["application/json"]?.schema,
    schemaOf(post?.responses["200"] ?? { description: "" }),
  ];
}

test("two forms that differ only in what they refer to keep two names, however deep the difference is", () => {
  const text = { type: "string" };
  const schemas = {
    Outer: object({ middle: ref("Middle") }),
    OuterInput: object({ middle: ref("MiddleInput") }),
    Middle: object({ inner: ref("Inner") }),
    MiddleInput: object({ inner: ref("InnerInput") }),
    Inner: object({ text }, ["text"]),
    InnerInput: object({ text }),
  };
  const named = nameOnce(documentOf(schemas, { accepted: ref("OuterInput"), sent: ref("Outer") }));
  expect(bodiesOf(named)).toEqual([ref("OuterInput"), ref("Outer")]);
  expect(named.components.schemas).toEqual(schemas);
});

test("two forms that are the same are one, also where they refer to forms that are", () => {
  const inner = object({ text: { type: "string" } });
  const schemas = {
    Outer: object({ inner: ref("Inner") }),
    OuterInput: object({ inner: ref("InnerInput") }),
    Inner: inner,
    InnerInput: inner,
    Unused: inner,
    UnusedInput: inner,
  };
  const named = nameOnce(documentOf(schemas, { accepted: ref("OuterInput"), sent: ref("Outer") }));
  expect(bodiesOf(named)).toEqual([ref("Outer"), ref("Outer")]);
  expect(named.components.schemas).toEqual({ Outer: schemas.Outer, Inner: inner });
});

test("a schema that refers to itself keeps two names where its forms differ, and one where they do not", () => {
  const schemas = {
    Tree: object({ children: { type: "array", items: ref("Tree") } }, ["children"]),
    TreeInput: object({ children: { type: "array", items: ref("TreeInput") } }),
    List: object({ next: ref("List") }),
    ListInput: object({ next: ref("ListInput") }),
  };
  const differing = nameOnce(documentOf(schemas, { accepted: ref("TreeInput"), sent: ref("Tree") }));
  expect(Object.keys(differing.components.schemas)).toEqual(["Tree", "TreeInput"]);
  const same = nameOnce(documentOf(schemas, { accepted: ref("ListInput"), sent: ref("List") }));
  expect(same.components.schemas).toEqual({ List: schemas.List });
});

test("a schema whose own name ends in Input keeps it", () => {
  const schemas = { TurnInput: object({}), TurnInputInput: object({}) };
  for (const [accepted, sent] of [
    [ref("TurnInputInput"), ref("TurnInput")],
    [ref("TurnInput"), {}],
    [ref("TurnInputInput"), {}],
  ] as const) {
    const named = nameOnce(documentOf(schemas, { accepted, sent }));
    expect(Object.keys(named.components.schemas)).toEqual(["TurnInput"]);
    expect(bodiesOf(named)[0]).toEqual(ref("TurnInput"));
  }
});

test("the default of a field is said in its description and is no keyword, but a parameter keeps it", () => {
  const schemas = {
    Mode: { type: "string", description: "How." },
    Body: object({
      mode: { ...ref("Mode"), default: "execute" },
      size: { type: "integer", description: "Of it.", default: 80 },
      // A field that is itself called `default`.
      default: { type: "string" },
      list: { type: "array", items: object({ flag: { type: "boolean", default: false } }) },
    }),
  };
  const described = describeDefaults(documentOf(schemas, { accepted: ref("Body"), sent: { default: [] } }));
  expect(described.components.schemas["Body"]).toEqual(
    object({
      mode: { ...ref("Mode"), description: "How. Default: `execute`." },
      size: { type: "integer", description: "Of it. Default: `80`." },
      default: { type: "string" },
      list: {
        type: "array",
        items: object({ flag: { type: "boolean", description: "Default: `false`." } }),
      },
    }),
  );
  expect(bodiesOf(described)).toEqual([ref("Body"), { description: "Default: `[]`." }]);
  expect(described.paths["/things"]?.["post"]?.parameters).toMatchObject([{ schema: { default: 100 } }]);
});

test("a oneOf of components has a discriminator where one constant tells them apart", () => {
  const kind = (value: string): JsonSchema => object({ v: { const: "1" }, type: { const: value } }, ["v", "type"]);
  const schemas = {
    A: kind("a"),
    B: kind("b"),
    Same: kind("a"),
    Optional: object({ type: { const: "c" } }),
    Told: { oneOf: [ref("A"), ref("B")] },
    Untold: { oneOf: [ref("A"), ref("Same")] },
    Unsure: { oneOf: [ref("A"), ref("Optional")] },
    Inline: { oneOf: [ref("A"), { type: "null" }] },
  };
  const { components } = addDiscriminators(documentOf(schemas, { accepted: ref("Told"), sent: ref("Told") }));
  expect(components.schemas["Told"]?.discriminator).toEqual({
    propertyName: "type",
    mapping: { a: ref("A").$ref, b: ref("B").$ref },
  });
  for (const name of ["Untold", "Unsure", "Inline"]) {
    expect(components.schemas[name]).not.toHaveProperty("discriminator");
  }
});

test("an example has what is required and what is to be shown, and shows what refers to itself once", () => {
  const schemas = {
    Tree: object({ name: { type: "string" }, next: ref("Tree"), note: { type: "string" }, at: { type: "string" } }, [
      "name",
      "next",
    ]),
  };
  const exampleOf = createExamples(schemas, {
    at: "2026-01-02T03:04:05.678Z",
    uuid: "0",
    fields: { name: "a" },
    shown: { Tree: ["at"] },
    whole: {},
  });
  expect(exampleOf(ref("Tree"))).toEqual({ name: "a", next: {}, at: "2026-01-02T03:04:05.678Z" });
  const cleared = createExamples(schemas, { at: "", uuid: "", fields: {}, shown: {}, whole: { "Tree.next": null } });
  expect(cleared(ref("Tree"))).toEqual({ name: "name", next: null });
});
