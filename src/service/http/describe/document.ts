import { nameOnce } from "../../../kit/http/openapi/components.ts";
import { describeDefaults } from "../../../kit/http/openapi/defaults.ts";
import { takeFacts } from "../../../kit/http/openapi/describe-route.ts";
import { addDiscriminators } from "../../../kit/http/openapi/discriminators.ts";
import { Document, type Operation } from "../../../kit/http/openapi/document.ts";
import { createExamples, type ExampleOf } from "../../../kit/http/openapi/examples.ts";
import { mapOperations } from "../../../kit/http/openapi/map-document.ts";
import { describeFields } from "./describe-fields.ts";
import { EXAMPLE_VALUES } from "./example-values.ts";

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const STREAM_TYPE = "text/event-stream";
const STREAM_EXAMPLE =
  'retry: 1000\n\nid: 1\nevent: metadata\ndata: {"schema_version":1,"seq":1,"event":"metadata","payload":{}}\n\n: heartbeat\n\n';

/** Completes what the routes declare: headers, examples, and the meaning of fields. */
export function completeDocument(made: object): object {
  const document = describeFields(addDiscriminators(nameOnce(Document.parse(made))));
  const exampleOf = createExamples(document.components.schemas, EXAMPLE_VALUES);
  // The last step: an example has the default where there is one.
  return describeDefaults(mapOperations(document, (operation) => completeOperation(operation, exampleOf)));
}

function completeOperation(described: Operation, exampleOf: ExampleOf): Operation {
  const { facts, operation } = takeFacts(described);
  const { parameters = [], requestBody, responses } = operation;
  const headers = Object.entries(facts.headers).map(([name, description]) => ({
    in: "header",
    name,
    description,
    schema: { type: "string" },
  }));
  const all = [...parameters, ...headers];
  return {
    ...operation,
    ...(all.length === 0 ? {} : { parameters: all }),
    ...(requestBody === undefined ? {} : { requestBody: showRequest(requestBody, exampleOf) }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        showResponse(status, response, facts.codes[status], exampleOf),
      ]),
    ),
  };
}

type Response = Operation["responses"][string];

function showRequest(body: NonNullable<Operation["requestBody"]>, exampleOf: ExampleOf) {
  const content = Object.entries(body.content).map(([type, media]) => {
    if (media.schema === undefined || (type !== JSON_TYPE && type !== FORM_TYPE)) return [type, media] as const;
    return [type, { ...media, example: exampleOf(media.schema) }] as const;
  });
  return { ...body, content: Object.fromEntries(content) };
}

/** @param codes - of the refusals of this status; absent where it is no refusal */
function showResponse(
  status: string,
  response: Response,
  codes: readonly string[] | undefined,
  exampleOf: ExampleOf,
): Response {
  const { content } = response;
  if (content === undefined) return response;
  const media = Object.entries(content).map(([type, each]): [string, NonNullable<Response["content"]>[string]] => {
    if (type === STREAM_TYPE) return [type, { ...each, example: STREAM_EXAMPLE }];
    if (type !== JSON_TYPE || each.schema === undefined) return [type, each];
    if (codes !== undefined) return [type, { ...each, examples: problemExamples(status, codes) }];
    return [type, { ...each, example: exampleOf(each.schema) }];
  });
  const description = response.description === "Default Response" ? "The answer." : response.description;
  return { ...response, description, content: Object.fromEntries(media) };
}

/** One for each code; 422 has the list of fields besides. */
function problemExamples(status: string, codes: readonly string[]): Record<string, { value: unknown }> {
  const byCode = codes.map((code): [string, { value: unknown }] => [
    code,
    { value: { detail: { code, message: "what is wrong, in a sentence" } } },
  ]);
  const fields = { value: { detail: [{ loc: ["body", "name"], msg: "Invalid input", type: "invalid_type" }] } };
  return { ...(status === "422" ? { fields } : {}), ...Object.fromEntries(byCode) };
}
