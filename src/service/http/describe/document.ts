import { PROBLEM_STATUS, type ProblemCode } from "../../protocol/problems.ts";
import { describeCodes, readCodes } from "../refusals.ts";
import { nameOnce } from "../../../kit/http/openapi/components.ts";
import { describeDefaults } from "../../../kit/http/openapi/defaults.ts";
import { addDiscriminators } from "../../../kit/http/openapi/discriminators.ts";
import { Document, type Operation } from "../../../kit/http/openapi/document.ts";
import { createExamples, type ExampleOf } from "../../../kit/http/openapi/examples.ts";
import { mapOperations } from "../../../kit/http/openapi/map-document.ts";
import { describeFields } from "./describe-fields.ts";
import { EXAMPLE_VALUES } from "./example-values.ts";
import { IDEMPOTENT, OPERATIONS } from "./operations.ts";

const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";
const STREAM_EXAMPLE =
  'retry: 1000\n\nid: 1\nevent: metadata\ndata: {"schema_version":1,"seq":1,"event":"metadata","payload":{}}\n\n: heartbeat\n\n';

/** What any call that is no GET may be refused for: a body is read before it is known that the route needs none. */
const READING_CODES: readonly ProblemCode[] = ["invalid_json", "unsupported_media_type", "body_too_large"];

/** Completes what the routes declare: ids, texts, problems by code, headers and examples. */
export function completeDocument(made: object): object {
  const document = describeFields(addDiscriminators(nameOnce(Document.parse(made))));
  const exampleOf = createExamples(document.components.schemas, EXAMPLE_VALUES);
  // The last step: an example has the default where there is one.
  return describeDefaults(
    mapOperations(document, (operation, route) => completeOperation(route, operation, exampleOf)),
  );
}

function completeOperation(route: string, operation: Operation, exampleOf: ExampleOf): Operation {
  const text = OPERATIONS[route];
  const withProblems = { ...operation, responses: addProblems(route, operation) };
  return {
    ...withProblems,
    ...(text === undefined ? {} : { operationId: text.id, description: text.about }),
    ...describeParameters(route, operation),
    ...(operation.requestBody === undefined
      ? {}
      : { requestBody: showRequest(route, operation.requestBody, exampleOf) }),
    responses: Object.fromEntries(
      Object.entries(withProblems.responses).map(([status, response]) => [
        status,
        showResponse(status, response, exampleOf),
      ]),
    ),
  };
}

function describeParameters(route: string, { parameters = [] }: Operation): { parameters?: unknown[] } {
  const header = (name: string, description: string) => ({
    in: "header",
    name,
    description,
    schema: { type: "string" },
  });
  const all = [...parameters];
  if (IDEMPOTENT.includes(route))
    all.push(header("Idempotency-Key", "The request's id, where the body names none; both and different is 422."));
  if (route === "GET /api/agent/runs/{run_id}/events")
    all.push(header("Last-Event-ID", "The last event that was seen; wins over `after_seq`."));
  return all.length === 0 ? {} : { parameters: all };
}

type Responses = Operation["responses"];
type Response = Responses[string];

/** A public route refuses no credential; one that is no GET refuses bodies; one that changes something refuses while stopping. */
function addProblems(route: string, { responses, security, requestBody }: Operation): Responses {
  const isPublic = security?.length === 0;
  const added: ProblemCode[] = [
    ...(route.startsWith("GET ") ? [] : [...READING_CODES, "shutting_down" as const]),
    ...(requestBody === undefined ? [] : ["storage_full" as const]),
    ...(IDEMPOTENT.includes(route) ? ["idempotency_key_mismatch" as const] : []),
  ];
  const result: Responses = {};
  for (const [status, response] of Object.entries(responses)) {
    const codes = readCodes(response.description);
    if (codes.length === 0) {
      result[status] = response;
      continue;
    }
    const left = isPublic ? codes.filter((code) => code !== "unauthorized") : codes;
    if (left.length > 0) result[status] = { ...response, description: describeCodes(left) };
  }
  for (const code of added) {
    const status = String(PROBLEM_STATUS[code]);
    const known = result[status];
    const codes = known === undefined ? [] : readCodes(known.description);
    if (known !== undefined && codes.length === 0 && status !== "422") continue;
    const content = known?.content ?? { [JSON_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } };
    result[status] = { description: describeCodes([...new Set([...codes, code])]), content };
  }
  return result;
}

function showRequest(route: string, body: NonNullable<Operation["requestBody"]>, exampleOf: ExampleOf) {
  const json = body.content[JSON_TYPE];
  if (json?.schema === undefined) return body;
  const shown = { ...json, example: exampleOf(json.schema) };
  const isForm = route === "POST /api/auth/token";
  return {
    ...body,
    content: { [JSON_TYPE]: shown, ...(isForm ? { "application/x-www-form-urlencoded": shown } : {}) },
  };
}

function showResponse(status: string, response: Response, exampleOf: ExampleOf): Response {
  const { content } = response;
  if (content === undefined) return response;
  const codes = readCodes(response.description);
  const media = Object.entries(content).map(([type, each]): [string, NonNullable<Response["content"]>[string]] => {
    if (type === STREAM_TYPE) return [type, { ...each, example: STREAM_EXAMPLE }];
    if (type !== JSON_TYPE || each.schema === undefined) return [type, each];
    if (codes.length > 0) return [type, { ...each, examples: problemExamples(status, codes) }];
    return [type, { ...each, example: exampleOf(each.schema) }];
  });
  const description = response.description === "Default Response" ? "The answer." : response.description;
  return { ...response, description, content: Object.fromEntries(media) };
}

/** One for each code; 422 has the list of fields besides. */
function problemExamples(status: string, codes: readonly ProblemCode[]): Record<string, { value: unknown }> {
  const byCode = codes.map((code): [string, { value: unknown }] => [
    code,
    { value: { detail: { code, message: "what is wrong, in a sentence" } } },
  ]);
  const fields = { value: { detail: [{ loc: ["body", "name"], msg: "Invalid input", type: "invalid_type" }] } };
  return { ...(status === "422" ? { fields } : {}), ...Object.fromEntries(byCode) };
}
