import { expect, onTestFinished, test } from "vitest";
import { call, testApp } from "../../harness/app.ts";
import { makeUser, PASSWORD } from "../../harness/auth.ts";
import { openRunDesk, outcomeOf } from "../../harness/run-desk.ts";
import { freshStorage } from "../../harness/storage.ts";

test("what a failed run used counts as that of any other", async () => {
  const desk = await openRunDesk(await freshStorage("postgres"));
  const { run } = await desk.submit("r-1", "enqueue");
  const owner = await desk.claim(run?.id ?? "");
  if (owner === undefined) throw new Error("nothing runs");
  const usage = {
    input_tokens: 900,
    cached_input_tokens: 300,
    cache_write_tokens: 0,
    output_tokens: 40,
    reasoning_tokens: 10,
  };
  await desk.finish(owner, { ...outcomeOf("failed"), usage });
  const days = await desk.storage.db.selectFrom("usage_day").selectAll().execute();
  // No price was reported: it is unknown, and not 0.
  expect(days).toMatchObject([{ runs: 1, failed_runs: 1, input_tokens: 900, output_tokens: 40, cost_usd: null }]);
});

test("usage is summed by day, key and user; another's only for those who manage the user", async () => {
  const storage = await freshStorage("postgres");
  const app = await testApp(storage);
  onTestFinished(() => app.close());
  const root = (await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD })).body;
  const as = { token: root.access_token };
  await call(app, "POST", "/api/auth/users", { username: "other", password: PASSWORD }, as);
  const other = (await call(app, "POST", "/api/auth/token", { username: "other", password: PASSWORD })).body;
  const outsider = (await makeUser(storage)).caller.userId;
  const row = { user_id: other.user.id, runs: 2, failed_runs: 1, input_tokens: 5_000_000_000, cost_usd: "0.25" };
  await storage.db
    .insertInto("usage_day")
    .values([
      { ...row, day: "2026-01-01" },
      { ...row, day: "2026-01-02" },
      { ...row, day: "2026-01-02", api_key_id: 7 },
      { ...row, day: "2026-01-03" },
      { ...row, user_id: outsider, day: "2026-01-02" },
    ])
    .execute();
  const read = async (query: string, token = other.access_token) =>
    (await call(app, "GET", `/api/usage?from=2026-01-01&to=2026-01-02${query}`, undefined, { token })).body;
  expect(await read("")).toMatchObject({
    items: [
      { day: "2026-01-01", runs: 2, input_tokens: 5_000_000_000, cost_usd: 0.25 },
      { day: "2026-01-02", runs: 4, failed_runs: 2, input_tokens: 10_000_000_000 },
    ],
    totals: { runs: 6, failed_runs: 3, cost_usd: 0.75 },
    quota: {},
  });
  expect((await read("&group=key")).items).toMatchObject([
    { api_key_id: 0, api_key_name: null, runs: 4 },
    { api_key_id: 7, runs: 2 },
  ]);
  expect((await read("&group=user")).items).toMatchObject([{ user_id: other.user.id, username: "other", runs: 6 }]);
  expect((await read("&group=user", root.access_token)).items).toMatchObject([
    { user_id: other.user.id, runs: 6 },
    { user_id: outsider, runs: 2 },
  ]);
  expect((await read(`&user_id=${outsider}`, root.access_token)).totals.runs).toBe(2);
  expect((await read(`&user_id=${outsider}`)).detail.code).toBe("user_not_found");
  expect((await read("&user_id=999999", root.access_token)).detail.code).toBe("user_not_found");
  const recent = await call(app, "GET", "/api/usage", undefined, { token: other.access_token });
  expect(recent.body).toMatchObject({ items: [], totals: { runs: 0, cost_usd: 0 } });
  for (const from of ["yesterday", "0000-01-01"]) {
    const refused = await call(app, "GET", `/api/usage?from=${from}`, undefined, as);
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["query", "from"]]);
  }
});
