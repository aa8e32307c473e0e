import { expect, test } from "vitest";
import { appWithPeople } from "../harness/people.ts";
import { freshStorage } from "../harness/storage.ts";

const BODIES = [
  ["application/json", '{"broken":'],
  ["text/plain", "words"],
] as const;
const METHODS = { post: "POST", put: "PUT", delete: "DELETE" } as const;

test("what a route refuses in a body is documented, also where it needs none", async () => {
  const { app, superadmin } = await appWithPeople(await freshStorage("postgres"));
  const { paths } = (await app.inject({ url: "/openapi.json" })).json();
  let asked = 0;
  for (const [path, methods] of Object.entries<object>(paths)) {
    for (const [name, { responses }] of Object.entries<{ responses: object }>({ ...methods })) {
      const method = Object.entries(METHODS).find(([each]) => each === name)?.[1];
      if (method === undefined) continue;
      const url = path.replaceAll(/\{[a-z_]+_id\}/g, (each) =>
        /user|department|api_key/.test(each) ? "99" : "none-0001",
      );
      for (const [type, payload] of BODIES) {
        const headers = { "content-type": type, authorization: `Bearer ${superadmin.token}` };
        const answer = await app.inject({ method, url: url.replaceAll(/\{[^}]+\}/g, "none-0001"), headers, payload });
        asked += 1;
        const documented = Object.entries(responses).flatMap(([status, { description }]) =>
          status === String(answer.statusCode) ? [String(description)] : [],
        );
        const code: unknown = answer.json().detail?.code;
        expect([method, path, type, answer.statusCode, documented]).toEqual([
          method,
          path,
          type,
          answer.statusCode,
          [expect.stringContaining(typeof code === "string" ? `\`${code}\`` : "")],
        ]);
      }
    }
  }
  expect(asked).toBeGreaterThan(60);
});
