import { expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import description from "../../../openapi.service.json" with { type: "json" };
import { call } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import { freshStorage } from "../harness/storage.ts";

interface Case {
  /** A body without an id, the same with one, and other intents. */
  readonly body: object;
  readonly withId: (id: string) => object;
  readonly others: readonly (readonly [body: object, status: number, code: string])[];
}

const OPENAI = { agent_slug: "cli-b", async_mode: true, thread_id: "calls" };
const EVALUATION = { agent_slug: "cli-b", thread_id: "calls" };
const messagesOf = (content: string) => ({ messages: [{ role: "user", content }] });

/** One for each route of the description that takes the header. */
const CASES = (thread: string, departmentId: number | null): Readonly<Record<string, Case>> => ({
  "POST /api/user/apikey": {
    body: { name: "a" },
    withId: (request_id) => ({ name: "a", request_id }),
    others: [
      [{ name: "b" }, 409, "intent_conflict"],
      [{ name: "a", expires_at: "2100-01-01T00:00:00Z" }, 409, "intent_conflict"],
      [{ name: "a", quota: { runs_per_day: 1 } }, 409, "intent_conflict"],
      [{ name: "a", department_id: departmentId }, 409, "intent_conflict"],
    ],
  },
  "POST /api/chat/thread": {
    body: { agent_id: "cli-b" },
    withId: (request_id) => ({ agent_id: "cli-b", request_id }),
    others: [
      [{ agent_id: "cli-a" }, 409, "agent_mismatch"],
      [{ agent_id: "cli-b", title: "t" }, 409, "request_id_conflict"],
      [{ agent_id: "cli-b", metadata: { a: 1 } }, 409, "request_id_conflict"],
    ],
  },
  "POST /api/agent/runs": {
    body: { agent_slug: "cli-b", thread_id: thread, query: "a" },
    withId: (request_id) => ({ agent_slug: "cli-b", thread_id: thread, query: "a", meta: { request_id } }),
    others: [
      [{ agent_slug: "cli-b", thread_id: thread, query: "b" }, 409, "request_id_conflict"],
      [{ agent_slug: "cli-b", thread_id: thread, query: "a", timeout_ms: 5_000 }, 409, "request_id_conflict"],
      [{ agent_slug: "cli-b", thread_id: thread, query: "a", queue_policy: "reject" }, 409, "request_id_conflict"],
      [{ agent_slug: "cli-b", thread_id: thread, query: "a", meta: { b: 1 } }, 409, "request_id_conflict"],
    ],
  },
  "POST /api/agent-invocation/agent-call/runs": {
    body: { ...OPENAI, ...messagesOf("a") },
    withId: (request_id) => ({ ...OPENAI, ...messagesOf("a"), request_id }),
    others: [
      [{ ...OPENAI, ...messagesOf("b") }, 409, "request_id_conflict"],
      [{ ...OPENAI, ...messagesOf("a"), agent_call_meta: { b: 1 } }, 409, "request_id_conflict"],
    ],
  },
  // On the thread that the case before has made busy, so that it is answered at once.
  "POST /api/agent-invocation/eval/runs": {
    body: { ...EVALUATION, query: "a" },
    withId: (request_id) => ({ ...EVALUATION, query: "a", meta: { request_id } }),
    others: [[{ ...EVALUATION, query: "b" }, 409, "request_id_conflict"]],
  },
});

/** The routes whose description names the header. */
function idempotentRoutes(): string[] {
  return Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      JSON.stringify("parameters" in operation ? operation.parameters : []).includes('"Idempotency-Key"')
        ? [`${method.toUpperCase()} ${path}`]
        : [],
    ),
  );
}

test("Idempotency-Key is the request's id on every route that has one, and bound by the same rules", async () => {
  const storage = await freshStorage("postgres");
  await putAgents(storage, await readAgentsFile(undefined));
  const { app, owner, other } = await appWithPeople(storage);
  const thread = (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, owner)).body.id;
  const cases = CASES(thread, owner.caller.departmentId);
  expect(Object.keys(cases).toSorted()).toEqual(idempotentRoutes().toSorted());
  for (const [route, { body, withId, others }] of Object.entries(cases)) {
    const url = route.replace("POST ", "");
    const id = `idempotent-${Object.keys(cases).indexOf(route)}`;
    const post = async (payload: object, key: string, { token } = owner) =>
      call(app, "POST", url, payload, { token, headers: { "idempotency-key": key } });
    const first = await post(body, id);
    expect([route, first.status]).toEqual([route, 200]);
    expect((await post(body, id)).body, route).toEqual(first.body);
    expect((await post(withId(id), id)).body, route).toEqual(first.body);
    expect((await call(app, "POST", url, withId(id), owner)).body, route).toEqual(first.body);
    for (const [changed, status, code] of others)
      expect(await post(changed, id), `${route} ${JSON.stringify(changed)}`).toMatchObject({
        status,
        body: { detail: { code } },
      });
    expect(await post(withId("another-id"), id), route).toMatchObject({
      status: 422,
      body: { detail: { code: "idempotency_key_mismatch" } },
    });
    for (const wrong of ["a/b-is-no-id", "with blanks in", "x".repeat(65), ".."]) {
      expect(await post(body, wrong), route).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ["header", "idempotency-key"] }] },
      });
    }
    // An id is one user's own.
    if (url !== "/api/agent/runs" && !url.endsWith("/eval/runs")) {
      const theirs = await post(others[0]?.[0] ?? {}, id, other);
      expect([route, theirs.status]).toEqual([route, 200]);
      expect(theirs.body, route).not.toEqual(first.body);
    }
  }
});
