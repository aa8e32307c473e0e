import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { OPENAPI_PATH } from "../../../scripts/generate/openapi.ts";
import { DESCRIPTION } from "../../harness/described-bodies.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { makeClients, runClient } from "../../harness/generated-client.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

const Parameter = z.object({ in: z.string(), name: z.string(), required: z.boolean().optional() });
type Operation = (typeof OPERATIONS)[number];
const OPERATIONS = Object.entries(DESCRIPTION.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
);

/** Of a JSON body: its example, with what is required alone. */
function smallestBody({ requestBody }: Operation): string | undefined {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type === undefined) return undefined;
  if (type !== "application/json") return JSON.stringify(media?.example);
  const { required = [] } = DESCRIPTION.components.schemas[media?.schema?.$ref?.split("/").at(-1) ?? ""] ?? {};
  const example = z.record(z.string(), z.unknown()).parse(media?.example);
  return JSON.stringify(Object.fromEntries(required.map((name) => [name, example[name]])));
}

/** The smallest call of an operation: what is required, and nothing else. */
function callOf(operation: Operation): string {
  const { path, method, parameters = [] } = operation;
  const required = parameters.map((each) => Parameter.parse(each)).filter((each) => each.required === true);
  const places = [...new Set(required.map((each) => each.in))].map((place) => {
    const names = required
      .filter((each) => each.in === place)
      .map(({ name }) => `${name}: valueOf("${path}", "${name}")`);
    return `${place}: { ${names.join(", ")} }`;
  });
  const body = smallestBody(operation);
  const parts = [
    ...(places.length === 0 ? [] : [`params: { ${places.join(", ")} }`]),
    ...(body === undefined ? [] : [`body: ${body}`]),
    ...(operation.requestBody?.content["application/octet-stream"] === undefined
      ? []
      : [`bodySerializer: (body: string) => body`, `headers: { "content-type": "application/octet-stream" }`]),
    // Streams, bytes and texts are no JSON; what the answer is read as is not part of the smallest request.
    `parseAs: "stream"`,
  ];
  return `["${method} ${path}", () => client.${method}("${path}", { ${parts.join(", ")} })],`;
}

/** What is made comes first, what is removed last. */
const ORDER = ["POST", "PUT", "GET", "HEAD", "DELETE"];
const inOrder = OPERATIONS.toSorted(
  (one, other) => ORDER.indexOf(one.method) - ORDER.indexOf(other.method) || other.path.length - one.path.length,
);

const program = (): string => `
import createClient from "openapi-fetch";
import type { paths } from "./schema.ts";
const client = createClient<paths>({ baseUrl: process.env.TURND_URL ?? "" });
const { data: turn } = await client.POST("/v1/turns", {
  body: { executor: "cli-b", input: "Done.", diff: true },
  params: { query: { wait_ms: 60000 } },
});
if (turn === undefined) throw new Error("no turn");
const { data: shell } = await client.POST("/v1/shell/sessions", { body: {} });
const { turn_id, session_id, request_id } = turn;
const ids: Record<string, string> = { turn_id, session_id, request_id, executor_id: "cli-b", path: "notes.txt",
  approval_id: "0", question_id: "0" };
const valueOf = (path: string, name: string): string =>
  (path.startsWith("/v1/shell/") && name === "session_id" ? shell?.session_id : ids[name]) ?? "";
const calls: [string, () => Promise<{ response: Response }>][] = [
${inOrder.map(callOf).join("\n")}
];
const statuses: Record<string, number> = {};
for (const [name, call] of calls) {
  const { response } = await call();
  statuses[name] = response.status;
  if (!response.bodyUsed) await response.body?.cancel();
}
console.log(JSON.stringify(statuses));
`;

test("the smallest call of every operation compiles in a generated client, and a daemon answers it", async () => {
  const directory = temporaryDirectory(onTestFinished);
  await makeClients(directory, fileURLToPath(OPENAPI_PATH), { "calls.ts": program() });
  const { url } = await fakeDaemon({ TURND_TURN_DIFF: "on" });
  const statuses = z
    .record(z.string(), z.number())
    .parse(JSON.parse(await runClient(directory, "calls.ts", { TURND_URL: url })));
  const undescribed = inOrder.filter(
    ({ method, path, responses }) => !Object.hasOwn(responses, String(statuses[`${method} ${path}`])),
  );
  expect(undescribed.map(({ method, path }) => `${method} ${path}: ${statuses[`${method} ${path}`]}`)).toEqual([]);
  const refused = Object.entries(statuses).filter(([, status]) => status >= 400);
  expect(Object.fromEntries(refused)).toEqual({
    // It names an executor or a session, of which neither alone is required.
    "POST /v1/turns": 422,
    // The turn has ended, and has asked nothing.
    "POST /v1/turns/{turn_id}/approvals/{approval_id}": 409,
    "POST /v1/turns/{turn_id}/questions/{question_id}": 409,
  });
  expect(Object.keys(statuses)).toHaveLength(OPERATIONS.length);
  expect(OPERATIONS.length).toBeGreaterThan(35);
});
