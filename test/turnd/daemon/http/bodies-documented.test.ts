import { expect, test } from "vitest";
import { createTestApp, problemOf } from "./test-app.ts";

/** What a route without a body answers when it is sent one, however little the body can be read. */
const BODIES = [
  ["application/json", '{"broken":'],
  ["text/plain", "words"],
] as const;

test("what a route refuses in a body is documented, also where it needs none", async () => {
  const { app } = await createTestApp();
  const { paths } = (await app.inject({ url: "/openapi.json" })).json();
  const operations = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.entries<{ responses: object; requestBody?: object }>({ ...methods }).map(([method, each]) => ({
      method,
      path,
      ...each,
    })),
  );
  let asked = 0;
  for (const { method, path, responses } of operations) {
    if (method === "get" || method === "head") continue;
    const url = path.replaceAll(/\{[^}]+\}/g, "not-there-1");
    for (const [type, payload] of BODIES) {
      const answer = await app.inject({
        method: method === "put" ? "PUT" : method === "post" ? "POST" : "DELETE",
        url,
        headers: { "content-type": type },
        payload,
      });
      asked += 1;
      expect([method, path, type, Object.keys(responses), problemOf(answer).code]).toEqual([
        method,
        path,
        type,
        expect.arrayContaining([String(answer.statusCode)]),
        expect.any(String),
      ]);
    }
  }
  expect(asked).toBeGreaterThan(20);
});
