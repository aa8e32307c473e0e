import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import type { Quota } from "../../../src/service/protocol/common.ts";
import { call, type AppOverrides } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import type { Person } from "../harness/person.ts";
import { freshStorage, type EngineKind } from "../harness/storage.ts";

const CALL = "/api/agent-invocation/agent-call/runs";
const EVAL = "/api/agent-invocation/eval/runs";
const DAY_SECONDS = 86_400;

async function openStand(kind: EngineKind, overrides?: AppOverrides) {
  const storage = await freshStorage(kind);
  await putAgents(storage, await readAgentsFile(undefined));
  const world = await appWithPeople(storage, { syncWaitMs: 20, ...overrides });
  const { app, owner, superadmin, keyId } = world;
  const makeThread = async (): Promise<string> =>
    (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, owner)).body.id;
  const post = async (path: string, body: object, { token }: Pick<Person, "token"> = owner) => {
    const answer = await call(app, "POST", path, body, { token });
    const { detail } = answer.body;
    return { ...answer, refusal: detail === undefined ? undefined : [answer.status, detail.code, detail.quota] };
  };
  return {
    ...world,
    storage,
    makeThread,
    post,
    setQuota: (quota: Quota) => call(app, "PUT", `/api/auth/users/${owner.caller.userId}`, { quota }, superadmin),
    setKeyQuota: (quota: Quota) => call(app, "PUT", `/api/user/apikey/${keyId}`, { quota }, owner),
    submit: async (as?: Person, more: object = {}) =>
      post("/api/agent/runs", { agent_slug: "cli-b", thread_id: await makeThread(), query: "x", ...more }, as),
    cancel: (runId: string) => post(`/api/agent/runs/${runId}/cancel`, {}),
  };
}

/** Midnight of UTC gives a quota of a day back, as it should: what it interrupts begins anew. */
async function withinOneDay(check: () => Promise<void>): Promise<void> {
  const today = (): string => new Date().toISOString().slice(0, 10);
  const day = today();
  try {
    await check();
  } catch (error) {
    if (today() === day) throw error;
    await check();
  }
}

test("runs of a day: the last one is taken, the next is 429 until midnight, and nothing but the day frees one", () =>
  withinOneDay(async () => {
    const { app, owner, storage, setQuota, submit, cancel, makeThread, post } = await openStand("postgres");
    const thread_id = await makeThread();
    const busy = { thread_id, queue_policy: "reject", meta: { request_id: "request-0001" } };
    const first = await submit(owner, busy);
    expect((await submit(owner, { thread_id, queue_policy: "reject" })).body.status).toBe("rejected");
    await setQuota({ runs_per_day: 2 });
    const queued = await submit(owner, { thread_id });
    expect([first.body.status, queued.body.status]).toEqual(["dispatched", "queued"]);
    const refused = await submit();
    expect(refused.refusal).toEqual([429, "quota_exceeded", "runs_per_day"]);
    const wait = Number(refused.headers["retry-after"]);
    const midnight = DAY_SECONDS - (Math.floor(Date.now() / 1_000) % DAY_SECONDS);
    expect(Math.abs(wait - midnight) % DAY_SECONDS).toBeLessThan(60);
    expect((await submit(owner, busy)).body.run_id).toBe(first.body.run_id);
    // What was never run costs nothing; what has run does, whatever became of it and of its thread.
    await post(`/api/agent/requests/${queued.body.request_id}/cancel`, {});
    const second = await submit();
    expect(second.body.status).toBe("dispatched");
    await cancel(first.body.run_id);
    await call(app, "DELETE", `/api/chat/thread/${thread_id}`, undefined, owner);
    expect((await submit()).refusal).toEqual([429, "quota_exceeded", "runs_per_day"]);
    await sql`update run_request set created_at = created_at - interval '1 day'`.execute(storage.db);
    expect((await submit()).body.status).toBe("dispatched");
    await setQuota({ runs_per_day: 0 });
    expect((await submit()).refusal).toEqual([429, "quota_exceeded", "runs_per_day"]);
  }));

test("tokens of a day: one below is taken, as many as the quota are not; a key counts its own", () =>
  withinOneDay(async () => {
    const { storage, owner, key, keyId, setQuota, setKeyQuota, submit } = await openStand("postgres");
    const user_id = owner.caller.userId;
    const day = sql<string>`(now() at time zone 'UTC')::date`;
    const spend = (api_key_id: number, input_tokens: number, output_tokens: number, of = day) =>
      storage.db
        .insertInto("usage_day")
        .values({ user_id, api_key_id, day: of, input_tokens, output_tokens })
        .onConflict((known) =>
          known.columns(["user_id", "api_key_id", "day"]).doUpdateSet({ input_tokens, output_tokens }),
        )
        .execute();
    await spend(0, 1_000, 0, sql`(now() at time zone 'UTC')::date - 1`);
    await spend(0, 60, 39);
    await setQuota({ tokens_per_day: 100 });
    expect((await submit()).body.status).toBe("dispatched");
    await spend(keyId, 1, 0);
    expect((await submit()).refusal).toEqual([429, "quota_exceeded", "tokens_per_day"]);
    await setQuota({});
    await setKeyQuota({ tokens_per_day: 2 });
    expect((await submit(key)).body.status).toBe("dispatched");
    await spend(keyId, 1, 1);
    expect((await submit(key)).refusal).toEqual([429, "quota_exceeded", "tokens_per_day"]);
    expect((await submit(owner)).body.status).toBe("dispatched");
  }));

test("active runs: of many at once no more than the quota begin, by whatever way in; an end frees a place", async () => {
  const { owner, key, setQuota, setKeyQuota, submit, cancel, makeThread, post } = await openStand("postgres");
  await setQuota({ active_runs: 3 });
  const threads = await Promise.all(Array.from({ length: 8 }, makeThread));
  const all = await Promise.all(threads.map((thread_id) => submit(owner, { thread_id })));
  const taken = all.filter(({ status }) => status === 200);
  expect(taken).toHaveLength(3);
  const refusals = all.filter(({ status }) => status !== 200);
  expect(refusals.map(({ refusal, headers }) => [refusal, headers["retry-after"]])).toEqual(
    refusals.map(() => [[429, "quota_exceeded", "active_runs"], "5"]),
  );
  const messages = [{ role: "user", content: "x" }];
  const ways: [string, object][] = [
    [CALL, { agent_slug: "cli-b", messages }],
    [CALL, { agent_slug: "cli-b", messages, async_mode: true }],
    [EVAL, { agent_slug: "cli-b", query: "x" }],
  ];
  const exceeded = [429, "quota_exceeded", "active_runs"];
  for (const [path, body] of ways) expect((await post(path, body, key)).refusal).toEqual(exceeded);
  await cancel(taken[0]?.body.run_id);
  expect((await post(CALL, { agent_slug: "cli-b", messages, async_mode: true }, key)).status).toBe(200);
  expect((await submit()).refusal).toEqual(exceeded);
  await setQuota({});
  await setKeyQuota({ active_runs: 1 });
  expect((await submit(key)).refusal).toEqual(exceeded);
  expect((await submit(owner)).body.status).toBe("dispatched");
});

test("a queue is full at its limit, of many at once no more wait", async () => {
  const { owner, submit, makeThread } = await openStand("postgres");
  const thread_id = await makeThread();
  await submit(owner, { thread_id });
  const all = await Promise.all(Array.from({ length: 8 }, () => submit(owner, { thread_id })));
  expect(all.filter(({ body }) => body.status === "queued")).toHaveLength(5);
  expect(
    all.filter(({ refusal }) => refusal?.[1] === "queue_full").map(({ headers }) => headers["retry-after"]),
  ).toEqual(["5", "5", "5"]);
});

describe("whatever the engine", () => {
  const kind = "postgres";

  test("webhooks of a user: of many at once no more than the limit are made; another's do not count", async () => {
    const { owner, other, post } = await openStand(kind);
    const body = { url: "https://hooks.example.org/x", events: ["run.completed"] };
    const all = await Promise.all(Array.from({ length: 6 }, () => post("/api/webhooks", body, owner)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(all.filter(({ refusal }) => refusal?.[1] === "webhook_limit")).toHaveLength(3);
    expect((await post("/api/webhooks", body, other)).status).toBe(200);
  });

  test("calls of a minute: as many as allowed, of many at once too, and the next has Retry-After", async () => {
    const { app, owner, other } = await openStand(kind, { ratePerCredential: 4 });
    const me = ({ token }: Person) => call(app, "GET", "/api/auth/me", undefined, { token });
    const all = await Promise.all(Array.from({ length: 7 }, () => me(owner)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(4);
    const [refused] = all.filter(({ status }) => status === 429);
    expect(refused?.body.detail.code).toBe("rate_limited");
    expect(Number(refused?.headers["retry-after"])).toBeGreaterThan(0);
    expect((await me(other)).status).toBe(200);
  });

  test("sizes: the last byte is taken, one more is refused with its field", async () => {
    const { app, owner, post } = await openStand(kind, {
      bodies: { long: 2_500_000, plain: 65_536, public: 16_384, values: 20_000 },
    });
    const thread = async (more: object) => (await post("/api/chat/thread", { agent_id: "cli-b", ...more })).body;
    const { id: thread_id } = await thread({ title: "t".repeat(255), metadata: { a: "m".repeat(16_384 - 8) } });
    expect((await thread({ title: "t".repeat(256) })).detail[0].loc).toEqual(["body", "title"]);
    expect((await thread({ metadata: { a: "m".repeat(16_384 - 7) } })).detail[0].loc).toEqual(["body", "metadata"]);
    // In bytes of UTF-8, not in characters.
    const query = "é".repeat(524_288);
    const submit = async (more: object) =>
      (await post("/api/agent/runs", { agent_slug: "cli-b", thread_id, ...more })).body;
    expect((await submit({ query })).status).toBe("dispatched");
    expect((await submit({ query: `${query}x` })).detail[0].loc).toEqual(["body", "query"]);
    const messages = (content: unknown) => ({
      agent_slug: "cli-b",
      messages: [{ role: "user", content }],
      async_mode: true,
    });
    expect((await post(CALL, messages(query))).status).toBe(200);
    const halves = [query, "x"].map((text) => ({ type: "text", text }));
    const refused = await post(CALL, messages(halves));
    expect([refused.status, refused.body.detail.loc]).toEqual([422, ["body", "messages", 0, "content"]]);
    const exact = JSON.stringify({ query: "x".repeat(2_500_000 - 12) });
    const send = (payload: string) =>
      app.inject({
        method: "POST",
        url: "/api/agent/runs",
        headers: { authorization: `Bearer ${owner.token}`, "content-type": "application/json" },
        payload,
      });
    expect([exact.length, (await send(exact)).statusCode, (await send(`${exact} `)).statusCode]).toEqual([
      2_500_000, 422, 413,
    ]);
  });
});
