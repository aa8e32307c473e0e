import {
  findSchema,
  SCHEMAS,
  type Content,
  type Document,
  type JsonSchema,
  type Operation,
  type Schemas,
} from "../../../../kit/http/openapi/document.ts";
import { takeFacts } from "../../../../kit/http/openapi/describe-route.ts";
import { createExamples, type ExampleOf } from "../../../../kit/http/openapi/examples.ts";
import { mapOperations } from "../../../../kit/http/openapi/map-document.ts";
import { isProblemCode, ProblemCode } from "../../../protocol/index.ts";
import { ANSWERS, EXAMPLE_VALUES } from "./example-values.ts";
import { problemExample } from "./problem-examples.ts";

const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";
const STREAM_TYPE = "text/event-stream";
const EVENT = "LoggedEvent";
const SLIM_EVENT = "SlimEvent";
const UNDESCRIBED = "Default Response";

type Example = { readonly summary?: string; readonly value: unknown };
type Reference = { readonly $ref: string };

/** Adds an example of every JSON body and answer, of every event and of every refusal, and a text to every answer. */
export function addExamples(document: Document): Document {
  const { schemas } = document.components;
  const exampleOf = createExamples(schemas, EXAMPLE_VALUES);
  const events = eventExamples(schemas, exampleOf);
  const shown = new Set<ProblemCode>();
  const completed = mapOperations(document, (described, route) => {
    const { facts, operation } = takeFacts(described);
    const answers = Object.entries(operation.responses).map(([status, response]) => {
      const codes = (facts.codes[status] ?? []).filter(isProblemCode);
      for (const code of codes) shown.add(code);
      const content =
        response.content === undefined ? undefined : showContent(`${route} ${status}`, response.content, codes);
      const description = response.description === UNDESCRIBED ? describeAnswer(response) : response.description;
      return [status, { ...response, description, ...(content === undefined ? {} : { content }) }] as const;
    });
    return {
      ...operation,
      ...(operation.requestBody === undefined ? {} : { requestBody: showRequest(operation.requestBody, exampleOf) }),
      responses: Object.fromEntries(answers),
    };
  });

  function showContent(answer: string, content: Content, codes: readonly ProblemCode[]): Content {
    const media = Object.entries(content).map(([type, each]) => {
      if (type === STREAM_TYPE) return [type, { ...each, example: frameOf(content, exampleOf) }] as const;
      if (type === NDJSON_TYPE) return [type, { ...each, examples: referTo(Object.keys(events)) }] as const;
      if (type !== JSON_TYPE || each.schema === undefined) return [type, each] as const;
      if (codes.length > 0) return [type, { ...each, examples: referTo(codes) }] as const;
      return [type, { ...each, example: ANSWERS[answer] ?? exampleOf(each.schema) }] as const;
    });
    return Object.fromEntries(media);
  }

  function describeAnswer({ content = {} }: Operation["responses"][string]): string {
    const schema = content[JSON_TYPE]?.schema;
    const refs = (schema?.anyOf ?? [schema]).flatMap((each) => (each?.$ref === undefined ? [] : [each.$ref]));
    return refs.map((ref) => findSchema(ref, schemas)?.description ?? "").join(" Or: ");
  }

  const problems = [...shown].toSorted().map((code) => [code, { value: problemExample(code) }] as const);
  return {
    ...completed,
    components: {
      ...completed.components,
      schemas: { ...completed.components.schemas, ...showOtherProblems(schemas, shown) },
      examples: { ...events, ...Object.fromEntries(problems) },
    },
  };
}

function referTo(names: readonly string[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/examples/${name}` }]));
}

function showRequest(body: NonNullable<Operation["requestBody"]>, exampleOf: ExampleOf): typeof body {
  const content = Object.entries(body.content).map(([type, media]) => {
    if (type !== JSON_TYPE) return [type, { ...media, example: "The bytes of the file." }] as const;
    return [type, media.schema === undefined ? media : { ...media, example: exampleOf(media.schema) }] as const;
  });
  return { ...body, content: Object.fromEntries(content) };
}

/** One of each type, and a slim one, by the names of their components. */
function eventExamples(schemas: Schemas, exampleOf: ExampleOf): Record<string, Example> {
  const refs = [...(schemas[EVENT]?.oneOf ?? []), { $ref: `${SCHEMAS}${SLIM_EVENT}` }];
  return Object.fromEntries(
    refs.map(({ $ref = "" }): [string, Example] => {
      const summary = findSchema($ref, schemas)?.description;
      return [
        $ref.slice(SCHEMAS.length),
        { ...(summary === undefined ? {} : { summary }), value: exampleOf({ $ref }) },
      ];
    }),
  );
}

/** The beginning of a stream of events, or of a shell's output. */
function frameOf(content: Content, exampleOf: ExampleOf): string {
  const output = content[JSON_TYPE]?.schema;
  const name = output === undefined ? "turn.started" : "output";
  const value = exampleOf(output ?? { $ref: `${SCHEMAS}TurnStartedEvent` });
  return `retry: 1000\n\nid: 1\nevent: ${name}\ndata: ${JSON.stringify(value)}\n\n: heartbeat\n\n`;
}

/** Codes that no route has, such as those of the image's front, are examples of the schema itself. */
function showOtherProblems(schemas: Schemas, shown: ReadonlySet<ProblemCode>): Record<string, JsonSchema> {
  const { Problem } = schemas;
  if (Problem === undefined) return {};
  const others = ProblemCode.options.filter((code) => !shown.has(code));
  return { Problem: { ...Problem, examples: others.map(problemExample) } };
}
