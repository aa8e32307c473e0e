import fc from "fast-check";
import type { Response } from "light-my-request";
import { expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { call } from "../harness/app.ts";
import { routesOf, type AppRoute } from "../harness/app-routes.ts";
import { appWithPeople } from "../harness/people.ts";
import { freshStorage } from "../harness/storage.ts";
import { bodyOf, isObject, resolve, STRANGE, type Schema } from "../harness/strange-values.ts";

interface Described {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>> };
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
}
/** A route with its description; a page has none. */
interface Operation extends AppRoute {
  readonly body: Schema | undefined;
  readonly query: readonly string[];
}
type Schemas = Readonly<Record<string, Schema>>;

/** Whole bodies; other invalid values are tried in fields. */
const BODIES = [null, true, "", [], [[]], {}, { "a\0": 1 }, { constructor: { prototype: {} } }, STRANGE.at(-1)];
const NUMBERS = ["-1", "1e400", "NaN", "99999999999999999999"];
const QUERIES = [...NUMBERS, "", "%00", "[]", "x".repeat(300), "%ED%A0%80", "0000-01-01", "9999-12-31", "true"];
const INVALID_PATHS = ["1", "0", "2147483648", "1e9", "%00", "%E0%A4%A", "%ED%A0%80", "%2e%2e", "x".repeat(200)];
const SAMPLES = 4;

/** What is wrong with an answer to bad input; undefined when nothing is. */
function faultOf(answer: Response, payload: unknown): string | undefined {
  const { statusCode: status } = answer;
  if (status < 400) return undefined;
  const { detail } = answer.json();
  if (status >= 500) return detail.code === "run_timeout" ? undefined : "a fault of the service";
  if (status !== 422) return typeof detail?.code === "string" && detail.message !== "" ? undefined : "no code";
  const fields = Array.isArray(detail) ? detail : [{ loc: detail.loc, type: detail.code }];
  return fields.length > 0 && fields.every((field: unknown) => isNamed(field, payload)) ? undefined : "no field";
}

/** Whether a code and a place are named; a body that is no object has no field to name. */
function isNamed(field: unknown, payload: unknown): boolean {
  if (!isObject(field)) return false;
  const { loc, type } = field;
  if (typeof type !== "string" || !Array.isArray(loc)) return false;
  const [part, ...way] = loc.map(String);
  return part === "body"
    ? way.length > 0 || !isObject(payload)
    : ["query", "path", "header"].includes(part ?? "") && way.length > 0;
}

function operationsOf(
  routes: readonly AppRoute[],
  paths: Readonly<Record<string, unknown>>,
  all: Schemas,
): Operation[] {
  return routes.map(({ method, path }) => {
    const methods = paths[path];
    const described: Described = (isObject(methods) ? methods[method.toLowerCase()] : undefined) ?? {};
    const query = (described.parameters ?? []).filter((each) => each.in === "query").map(({ name }) => name);
    return { method, path, query, body: resolve(described.requestBody?.content["application/json"]?.schema, all) };
  });
}

test("no body, query, path or header makes a route answer 500; what is wrong is named, with its place", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const storage = await freshStorage("postgres");
  await putAgents(storage, await readAgentsFile(undefined));
  const world = await appWithPeople(storage, { streamMaxMs: 20, syncWaitMs: 20 });
  const { app, other, keyId, makePerson } = world;
  const document = (await call(app, "GET", "/openapi.json")).body;
  const all: Schemas = document.components.schemas;
  const operations = operationsOf(await routesOf(app), document.paths, all);
  const described = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const routes = operations.map(({ method, path }) => `${method} ${path}`);
  expect(routes).toEqual(expect.arrayContaining(described));
  expect(described.length).toBeGreaterThan(80);

  let { token } = world.superadmin;
  const thread = (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, { token })).body.id;
  const first = { agent_slug: "cli-b", thread_id: thread, query: "x", meta: { request_id: "request-0001" } };
  const { body: run } = await call(app, "POST", "/api/agent/runs", first, { token });
  const { database } = (await call(app, "POST", "/api/knowledge/databases", { name: "kb" }, { token })).body;
  const made: readonly string[] = [thread, run.run_id, database.kb_id, "request-0001", "key-0001"];
  const seeds = [...made, "cli-b", "cli-b-plan", "steer", "resume-2", "a:b", "user"];
  const inPath = fc.oneof(
    fc.constantFrom(...seeds, ...INVALID_PATHS, String(keyId), String(other.caller.userId)),
    fc.string({ maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed())),
  );
  const faults: string[] = [];
  const statuses = new Map<number, number>();
  const sent = new Set<string>();
  const ask = (method: AppRoute["method"], url: string, payload: unknown, headers: Record<string, string>) =>
    app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    });
  const send = async (
    { method, path }: Operation,
    url: string,
    payload?: unknown,
    headers: Record<string, string> = {},
  ): Promise<void> => {
    sent.add(`${method} ${path}`);
    const type = payload === undefined ? {} : { "content-type": "application/json" };
    let answer = await ask(method, url, payload, { ...type, ...headers });
    if (answer.statusCode === 401 && answer.json().detail.code === "unauthorized") {
      // The caller was logged out, disabled or deleted by a call before this one.
      ({ token } = await makePerson("superadmin"));
      answer = await ask(method, url, payload, { ...type, ...headers });
    }
    statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
    const fault = faultOf(answer, payload);
    if (fault === undefined) return;
    const what = `${method} ${url} ${JSON.stringify(payload)?.slice(0, 300)} ${JSON.stringify(headers)}`;
    faults.push(`${fault}: ${answer.statusCode} ${what} ${answer.body.slice(0, 500)}`);
  };
  for (const operation of operations) {
    const plain = operation.path.replaceAll(/\{[^}]+\}/g, "1");
    if (operation.method === "POST" || operation.method === "PUT") {
      for (const strange of BODIES) await send(operation, plain, strange);
    }
    for (const name of operation.query) {
      for (const value of [...QUERIES, `1&${name}=2`]) await send(operation, `${plain}?${name}=${value}`);
    }
    const payloads = operation.body === undefined ? fc.constant(undefined) : bodyOf(operation.body, all, seeds);
    const parts = fc.array(inPath, { minLength: 3, maxLength: 3 });
    const samples = fc.sample(fc.tuple(payloads, parts, fc.string({ maxLength: 70 })), { seed, numRuns: SAMPLES });
    for (const [payload, inPlace, header] of samples) {
      let place = 0;
      const path = operation.path.replaceAll(/\{[^}]+\}/g, () => inPlace[(place += 1) - 1] ?? "1");
      const names = ["idempotency-key", "last-event-id", "traceparent", "accept"];
      const headers = /^[ -~]*$/.test(header) ? Object.fromEntries(names.map((name) => [name, header])) : {};
      await send(operation, path, payload, headers);
    }
  }
  expect(faults, `seed ${seed}`).toEqual([]);
  expect([...sent].toSorted()).toEqual(routes.toSorted());
  expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(1_200);
  // Behind the validation, too.
  expect(statuses.get(200)).toBeGreaterThan(50);
}, 240_000);

test("a key's time that is not in four digits of a year is refused, in its creation and its change", async () => {
  const { app, owner, keyId } = await appWithPeople(await freshStorage("postgres"));
  for (const expires_at of ["9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00Z"]) {
    const refused = { status: 422, body: { detail: [{ loc: ["body", "expires_at"] }] } };
    const made = { request_id: "create-key-0001", name: "x", expires_at };
    expect(await call(app, "POST", "/api/user/apikey/", made, owner)).toMatchObject(refused);
    expect(await call(app, "PUT", `/api/user/apikey/${keyId}`, { expires_at }, owner)).toMatchObject(refused);
  }
  const last = { request_id: "create-key-0002", name: "x", expires_at: "9999-12-31T23:59:59.999Z" };
  expect((await call(app, "POST", "/api/user/apikey/", last, owner)).body.api_key.expires_at).toBe(last.expires_at);
  expect((await call(app, "GET", "/api/user/apikey/", undefined, owner)).status).toBe(200);
});

test("null is absent in what a submission may leave out", async () => {
  const storage = await freshStorage("postgres");
  await putAgents(storage, await readAgentsFile(undefined));
  const { app, owner } = await appWithPeople(storage);
  const { body: thread } = await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, owner);
  const nulls = { meta: null, image_content: null, model_spec: null, tool_approval_mode: null, queue_policy: null };
  const body = { agent_slug: "cli-b", thread_id: thread.id, query: "x", ...nulls, resume: null, timeout_ms: null };
  const answer = await call(app, "POST", "/api/agent/runs", { ...body, created_by_run_id: null }, owner);
  expect(answer).toMatchObject({ status: 200, body: { status: "dispatched", queue_policy: "enqueue" } });
  const without = await call(app, "POST", "/api/agent/runs", { ...body, query: null }, owner);
  expect([without.status, without.body.detail]).toMatchObject([
    422,
    { code: "query_required", loc: ["body", "query"] },
  ]);
});

test("bodies that are no JSON of ours are refused by name", async () => {
  const storage = await freshStorage("postgres");
  const { app, owner } = await appWithPeople(storage);
  const post = async (payload: string | Buffer, headers: Record<string, string> = {}) => {
    const answer = await app.inject({
      method: "POST",
      url: "/api/agent/runs",
      headers: { authorization: `Bearer ${owner.token}`, "content-type": "application/json", ...headers },
      payload,
    });
    const { detail } = answer.json();
    return [answer.statusCode, Array.isArray(detail) ? detail[0].type : detail.code];
  };
  expect(await post("{")).toEqual([400, "invalid_json"]);
  expect(await post('{"__proto__":{}}')).toEqual([400, "invalid_json"]);
  expect(await post(Buffer.from([0x22, 0xff, 0x22]))).toEqual([400, "invalid_json"]);
  expect(await post("[".repeat(100_000) + "]".repeat(100_000))).toEqual([413, "body_too_large"]);
  expect(await post('{"query":"\\ud800"}')).toEqual([422, "unstorable_text"]);
  expect(await post('{"query":"\\u0000"}')).toEqual([422, "unstorable_text"]);
  expect(await post("{}", { "content-type": "text/plain" })).toEqual([415, "unsupported_media_type"]);
  expect(await post("x".repeat(1_000_001))).toEqual([413, "body_too_large"]);
  expect(await post("{}", { "content-encoding": "gzip" })).toEqual([415, "unsupported_media_type"]);
});
