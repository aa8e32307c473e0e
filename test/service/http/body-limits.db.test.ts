import type { FastifyInstance } from "fastify";
import { expect, test } from "vitest";
import { call } from "../harness/app.ts";
import { routesOf } from "../harness/app-routes.ts";
import { appWithPeople } from "../harness/people.ts";
import { freshStorage } from "../harness/storage.ts";

const BODIES = { long: 1_000_000, plain: 65_536, public: 16_384, values: 20_000 };
const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";

const PUBLIC = ["POST /api/auth/cli/sessions", "POST /api/auth/cli/sessions/token", "POST /api/auth/initialize"];
const LOGIN = "POST /api/auth/token";
/** What may be long, and why each is: instructions, a text of a megabyte, images, or a batch. */
const LONG = [
  "POST /api/agents",
  "PUT /api/agents/{slug}",
  "POST /api/agent-invocation/agent-call/runs",
  "POST /api/agent-invocation/eval/runs",
  "POST /api/agent/runs",
  "POST /api/knowledge/databases/{kb_id}/documents",
  "POST /api/knowledge/databases/{kb_id}/documents/add",
];
/** Streamed to where the file is stored, which limits it. */
const UPLOAD = "POST /api/knowledge/files/upload";

const padded = (bytes: number): string => `{"x":"${"x".repeat(bytes - 8)}"}`;
const names = (count: number): string => `{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(",")}}`;
const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

async function openStand() {
  const { app, superadmin } = await appWithPeople(await freshStorage("postgres"), { bodies: BODIES });
  const token = { token: superadmin.token };
  const { database } = (await call(app, "POST", "/api/knowledge/databases", { name: "kb" }, token)).body;
  async function post(route: string, payload: string, type = JSON_TYPE): Promise<string> {
    const [method, path = ""] = route.split(" ");
    const url = path.replaceAll("{kb_id}", database.kb_id).replaceAll(/\{\w+\}/g, "1");
    const headers = { "content-type": type, authorization: `Bearer ${superadmin.token}` };
    const answer = await app.inject({ method: method === "PUT" ? "PUT" : "POST", url, headers, payload });
    const { detail } = answer.json<{ detail?: { code?: string; message?: string } }>();
    return `${answer.statusCode} ${detail?.code ?? ""} ${detail?.message ?? ""}`;
  }
  return { app, post };
}

/** Every route that takes a body, by the limit of it. */
async function limitsOf(app: FastifyInstance): Promise<Map<string, number>> {
  const routes = (await routesOf(app)).filter(({ method }) => method === "POST" || method === "PUT");
  return new Map(
    routes
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => route !== UPLOAD)
      .map((route) => [
        route,
        [LOGIN, ...PUBLIC].includes(route) ? BODIES.public : LONG.includes(route) ? BODIES.long : BODIES.plain,
      ]),
  );
}

test("every route refuses a body that is longer than it needs, and its message names the limit", async () => {
  const { app, post } = await openStand();
  const limits = await limitsOf(app);
  expect(limits.size).toBeGreaterThan(40);
  for (const [route, limit] of limits) {
    // The tools' own credential is looked at first.
    const refusal = route.endsWith("/agent-tools/mcp")
      ? /^401 unauthorized/
      : new RegExp(`^413 body_too_large .*${limit}`);
    expect(await post(route, padded(limit + 1)), route).toMatch(refusal);
  }
});

test("a body of countless values, a deep one and a form of countless pairs are refused before they are looked at", async () => {
  const { post } = await openStand();
  for (const route of [...PUBLIC, LOGIN]) {
    expect(await post(route, names(600)), route).toBe(
      "413 body_too_large the body has more than 1000 values and names",
    );
  }
  expect(await post(LOGIN, "a=1&".repeat(1_001), FORM)).toBe("413 body_too_large the form has more than 1000 pairs");
  const batch = "POST /api/agent-invocation/agent-call/runs";
  expect(await post(batch, names(10_001))).toBe("413 body_too_large the body has more than 20000 values and names");
  expect(await post(batch, "a=1&".repeat(20_001), FORM)).toMatch(/^413 body_too_large .* 20000 pairs/);
  expect(await post(batch, deep(65))).toBe("413 body_too_large the body is nested deeper than 64");
  expect(await post(batch, deep(64))).toMatch(/^422 /);
});

test("a path that no route has takes no more than a public one", async () => {
  const { post } = await openStand();
  expect(await post("POST /api/nothing", padded(BODIES.public + 1))).toMatch(/^413 body_too_large .*16384/);
  expect(await post("POST /api/nothing", names(600))).toMatch(/^413 body_too_large/);
  expect(await post("POST /api/nothing", "{}")).toMatch(/^404 route_not_found/);
});

test("a form logs in, and an answer repeats no long name", async () => {
  const { app, post } = await openStand();
  expect(await post(LOGIN, "username=nobody&password=not%20a+password", FORM)).toMatch(/^401 invalid_credentials/);
  const answer = await app.inject({
    method: "POST",
    url: "/api/auth/cli/sessions",
    payload: { ["n".repeat(15_000)]: 1 },
  });
  expect(answer.statusCode).toBe(422);
  expect(answer.body.length).toBeLessThan(1_000);
});
