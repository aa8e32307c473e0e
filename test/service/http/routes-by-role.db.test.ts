import { expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { call } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import { urlOf, type World } from "../harness/role-rows.ts";
import { ME, rowsOf } from "../harness/route-rows.ts";
import { freshStorage } from "../harness/storage.ts";

test("each route answers each role as designed, and no route is without a row", async () => {
  const storage = await freshStorage("pglite");
  await putAgents(storage, await readAgentsFile(undefined));
  const world = await appWithPeople(storage);
  const { app, owner, other, admin, manager, superadmin, key } = world;
  const rows = await rowsOf(storage, world);
  const people = [undefined, owner, other, admin, manager, superadmin, key];
  const answered = [];
  for (const row of rows) {
    const { route, query = "", headers = {}, body } = row;
    const statuses: number[] = [];
    for (const person of people) {
      const [method, url] = await urlOf(row);
      const options = person === undefined ? { headers } : { headers, token: person.token };
      statuses.push((await call(app, method, url, body?.(), options)).status);
    }
    answered.push([route, statuses]);
    if (route === "GET /api/usage" && query !== "") await expectNothingOfTheOwner(world);
  }
  expect(answered).toEqual(rows.map(({ route, statuses }) => [route, statuses]));
  // Logged out: only the key goes on.
  const after = [];
  for (const person of people.slice(1)) {
    after.push((await call(app, "GET", "/api/auth/me", undefined, { token: person?.token ?? "" })).status);
  }
  expect(after).toEqual([401, 401, 401, 401, 401, 200]);

  const { paths } = (await call(app, "GET", "/openapi.json")).body;
  const routes = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.length).toBeGreaterThan(60);
  expect([...new Set(rows.map(({ route }): string => route))].toSorted()).toEqual(routes.toSorted());
});

/** Lists hold what is one's own, or what one manages, and nothing of others. */
async function expectNothingOfTheOwner({ app, owner, other, admin, manager, superadmin, keyId }: World): Promise<void> {
  const ownerId = owner.caller.userId;
  const idsOf = async ({ token }: World["owner"]): Promise<Set<string>> => {
    const { runs } = (await call(app, "GET", "/api/agent/runs", undefined, { token })).body;
    const { threads } = (await call(app, "GET", "/api/chat/threads", undefined, { token })).body;
    const ids = [runs.map((run: { run_id: string }) => run.run_id), threads.map(({ id }: { id: string }) => id)].flat();
    expect(ids).toContain(ME);
    return new Set(ids);
  };
  const ofOwner = await idsOf(owner);
  expect(ofOwner.size).toBeGreaterThan(3);
  for (const person of [other, admin, manager, superadmin]) {
    // The id of a thread is each user's own: all have this one.
    expect([...(await idsOf(person))].filter((id) => ofOwner.has(id))).toEqual([ME]);
  }
  const sees = async ({ token }: { token: string }): Promise<boolean> => {
    const { body } = await call(app, "GET", `/api/user/apikey/?user_id=${ownerId}`, undefined, { token });
    return body.api_keys.some(({ id }: { id: number }) => id === keyId);
  };
  expect(await Promise.all([owner, other, admin, manager, superadmin].map(sees))).toEqual([
    true,
    false,
    false,
    true,
    true,
  ]);
}
