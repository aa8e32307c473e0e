import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { call } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;

/** A JSON schema, as far as the description uses one. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
}
interface Described {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
}
interface Operation {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly body: Schema | undefined;
  readonly query: readonly string[];
}

/** What people send by mistake and on purpose. */
const STRANGE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  "",
  " ",
  "a\0b",
  "\ud800",
  "x\udfff",
  "\u202e\ufeff",
  ".",
  "..",
  "a/b",
  "%00",
  "x".repeat(65),
  "y".repeat(3_000),
  "9999-12-31T23:59:59-12:00",
  "9999-12-31T23:59:59Z",
  "0000-01-01T00:00:00Z",
  "2099-02-29T00:00:00Z",
  "svkey_".padEnd(54, "0"),
  "00000000-0000-0000-0000-000000000000",
  "data:image/png;base64,AAAA",
  [],
  {},
  [[]],
  { "a\0": 1 },
  { constructor: { prototype: {} } },
  { decisions: [{ type: "approve" }] },
  nested(60),
  nested(70),
  nested(1_000),
];

function nested(depth: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

/** What fits a schema now and then, so that the fuzz gets behind the validation. */
function fitting(
  schema: Schema,
  all: Readonly<Record<string, Schema>>,
  seeds: readonly string[],
): fc.Arbitrary<unknown> {
  const { $ref } = schema;
  if ($ref !== undefined) return fitting(all[$ref.split("/").at(-1) ?? ""] ?? {}, all, seeds);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((each) => fitting(each, all, seeds)));
  switch (schema.type) {
    case "object":
      return body(schema, all, seeds);
    case "array":
      return fc.array(fitting(schema.items ?? {}, all, seeds), { maxLength: 3 });
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return fc.constantFrom<unknown>(0, 1, 2, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 53 - 1);
    case "string":
      return schema.format === "date-time"
        ? fc.constantFrom("2999-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "2099-01-01T00:00:00.123456789+05:30")
        : fc.oneof(fc.constantFrom(...seeds), fc.string({ unit: "binary", maxLength: 70 }));
    default:
      return fc.constantFrom(...STRANGE);
  }
}

function body(schema: Schema, all: Readonly<Record<string, Schema>>, seeds: readonly string[]): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]): [string, fc.Arbitrary<unknown>] => [
    name,
    fc.oneof(
      { weight: 6, arbitrary: fitting(field, all, seeds) },
      { weight: 1, arbitrary: fc.constantFrom(...STRANGE) },
    ),
  ]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}

function resolve(schema: Schema | undefined, all: Readonly<Record<string, Schema>>): Schema | undefined {
  return schema?.$ref === undefined ? schema : all[schema.$ref.split("/").at(-1) ?? ""];
}

describe.each(ENGINES)("%s", (kind) => {
  test("no body, query, path or header makes a route answer 500", async () => {
    const storage = await freshStorage(kind);
    await putAgents(storage, await readAgentsFile(undefined));
    const { app, superadmin, keyId } = await appWithPeople(storage);
    const document = (await call(app, "GET", "/openapi.json")).body;
    const all: Record<string, Schema> = document.components.schemas;
    const operations: Operation[] = METHODS.flatMap((method) =>
      Object.entries<Record<string, Described | undefined>>(document.paths).flatMap(([path, methods]) => {
        const found = methods[method.toLowerCase()];
        if (found === undefined) return [];
        const query = (found.parameters ?? []).filter((each) => each.in === "query").map(({ name }) => name);
        return [{ method, path, body: resolve(found.requestBody?.content["application/json"]?.schema, all), query }];
      }),
    );
    expect(operations.length).toBeGreaterThan(40);
    const { token } = superadmin;
    const thread = (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, { token })).body.id;
    const { body: run } = await call(
      app,
      "POST",
      "/api/agent/runs",
      { agent_slug: "cli-b", thread_id: thread, query: "x", meta: { request_id: "request-0001" } },
      { token },
    );
    const seeds = [
      thread,
      run.run_id,
      "request-0001",
      "cli-b",
      "cli-b-plan",
      "steer",
      "resume-2",
      "a:b",
      "user",
      "key-0001",
    ];
    const inPath = fc.oneof(
      fc.constantFrom(
        ...seeds,
        String(keyId),
        "1",
        "0",
        "2147483648",
        "1e9",
        "%00",
        "%E0%A4%A",
        "%ED%A0%80",
        "%2e%2e",
        "x".repeat(200),
      ),
      fc.string({ maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed())),
    );
    const faults: string[] = [];
    const statuses = new Map<number, number>();
    const send = async (operation: Operation, path: string, payload: unknown, headers: Record<string, string>) => {
      // Its streams have no end here, and it would take the caller's own account or token away.
      if (["/events", "/logout", "/me/password"].some((end) => operation.path.endsWith(end))) return;
      if (operation.path.includes("{user_id}") && operation.method !== "GET") return;
      const answer = await app.inject({
        method: operation.method,
        url: path,
        headers: { authorization: `Bearer ${token}`, ...headers },
        ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
      });
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
      if (answer.statusCode >= 500)
        faults.push(
          `${answer.statusCode} ${operation.method} ${path} ${JSON.stringify(payload)?.slice(0, 300)} ${answer.body}`,
        );
      else if (answer.statusCode >= 400 && answer.json().detail === undefined)
        faults.push(`${operation.method} ${path}: no detail`);
    };
    const json = { "content-type": "application/json" };
    for (const operation of operations) {
      const plain = operation.path.replaceAll(/\{[^}]+\}/g, "1");
      if (operation.method === "POST" || operation.method === "PUT") {
        for (const strange of STRANGE) await send(operation, plain, strange, json);
      }
      for (const name of operation.query) {
        for (const value of [
          "",
          "%00",
          "-1",
          "1e400",
          "NaN",
          "[]",
          "x".repeat(300),
          "%ED%A0%80",
          "99999999999999999999",
          "1&" + name + "=2",
        ])
          await send(operation, `${plain}?${name}=${value}`, undefined, {});
      }
      const payloads = operation.body === undefined ? fc.constant(undefined) : body(operation.body, all, seeds);
      const samples = fc.sample(
        fc.tuple(payloads, fc.array(inPath, { minLength: 3, maxLength: 3 }), fc.string({ maxLength: 70 })),
        12,
      );
      for (const [payload, parts, header] of samples) {
        let place = 0;
        const path = operation.path.replaceAll(/\{[^}]+\}/g, () => parts[(place += 1) - 1] ?? "1");
        const headers = /^[ -~]*$/.test(header) ? { "idempotency-key": header, "last-event-id": header } : {};
        await send(operation, path, payload, payload === undefined ? headers : { ...json, ...headers });
      }
    }
    expect(faults).toEqual([]);
    expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(700);
    // Behind the validation, too.
    expect(statuses.get(200)).toBeGreaterThan(20);
  });

  test("a key's time that is not in four digits of a year is refused, in its creation and its change", async () => {
    const { app, owner, keyId } = await appWithPeople(await freshStorage(kind));
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

  test("bodies that are no JSON of ours are refused by name", async () => {
    const storage = await freshStorage(kind);
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
    expect(await post("[".repeat(100_000) + "]".repeat(100_000))).toEqual([422, "too_deep"]);
    expect(await post('{"query":"\\ud800"}')).toEqual([422, "unstorable_text"]);
    expect(await post('{"query":"\\u0000"}')).toEqual([422, "unstorable_text"]);
    expect(await post("{}", { "content-type": "text/plain" })).toEqual([415, "unsupported_media_type"]);
    expect(await post("x".repeat(1_000_001))).toEqual([413, "body_too_large"]);
    expect(await post("{}", { "content-encoding": "gzip" })).toEqual([415, "unsupported_media_type"]);
  });
});
