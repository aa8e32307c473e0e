import { describe, expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { IDEMPOTENT } from "../../../src/service/http/describe/operations.ts";
import { call } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";

interface Case {
  /** A body without an id, the same with one, and another intent. */
  readonly body: object;
  readonly withId: (id: string) => object;
  readonly other: object;
  readonly conflict: readonly [status: number, code: string];
}

const OPENAI = { agent_slug: "cli-b", async_mode: true, thread_id: "calls" };
const EVALUATION = { agent_slug: "cli-b", thread_id: "calls" };
const messagesOf = (content: string) => ({ messages: [{ role: "user", content }] });

/** One for each route of the description that takes the header. */
const CASES = (thread: string): Readonly<Record<string, Case>> => ({
  "POST /api/user/apikey": {
    body: { name: "a" },
    withId: (request_id) => ({ name: "a", request_id }),
    other: { name: "b" },
    conflict: [409, "intent_conflict"],
  },
  "POST /api/chat/thread": {
    body: { agent_id: "cli-b" },
    withId: (request_id) => ({ agent_id: "cli-b", request_id }),
    other: { agent_id: "cli-a" },
    conflict: [409, "agent_mismatch"],
  },
  "POST /api/agent/runs": {
    body: { agent_slug: "cli-b", thread_id: thread, query: "a" },
    withId: (request_id) => ({ agent_slug: "cli-b", thread_id: thread, query: "a", meta: { request_id } }),
    other: { agent_slug: "cli-b", thread_id: thread, query: "b" },
    conflict: [409, "request_id_conflict"],
  },
  "POST /api/agent-invocation/agent-call/runs": {
    body: { ...OPENAI, ...messagesOf("a") },
    withId: (request_id) => ({ ...OPENAI, ...messagesOf("a"), request_id }),
    other: { ...OPENAI, ...messagesOf("b") },
    conflict: [409, "request_id_conflict"],
  },
  // On the thread that the case before has made busy, so that it is answered at once.
  "POST /api/agent-invocation/eval/runs": {
    body: { ...EVALUATION, query: "a" },
    withId: (request_id) => ({ ...EVALUATION, query: "a", meta: { request_id } }),
    other: { ...EVALUATION, query: "b" },
    conflict: [409, "request_id_conflict"],
  },
});

describe.each(ENGINES)("%s", (kind) => {
  test("Idempotency-Key is the request's id on every route that has one, and bound by the same rules", async () => {
    const storage = await freshStorage(kind);
    await putAgents(storage, await readAgentsFile(undefined));
    const { app, owner, other } = await appWithPeople(storage);
    const thread = (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, owner)).body.id;
    const cases = CASES(thread);
    expect(Object.keys(cases).toSorted()).toEqual([...IDEMPOTENT].toSorted());
    for (const [route, { body, withId, other: changed, conflict }] of Object.entries(cases)) {
      const url = route.replace("POST ", "");
      const id = `idempotent-${Object.keys(cases).indexOf(route)}`;
      const post = async (payload: object, key: string, { token } = owner) =>
        call(app, "POST", url, payload, { token, headers: { "idempotency-key": key } });
      const first = await post(body, id);
      expect([route, first.status]).toEqual([route, 200]);
      expect((await post(body, id)).body, route).toEqual(first.body);
      expect((await post(withId(id), id)).body, route).toEqual(first.body);
      expect((await call(app, "POST", url, withId(id), owner)).body, route).toEqual(first.body);
      expect(await post(changed, id), route).toMatchObject({
        status: conflict[0],
        body: { detail: { code: conflict[1] } },
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
        const theirs = await post(changed, id, other);
        expect([route, theirs.status]).toEqual([route, 200]);
        expect(theirs.body, route).not.toEqual(first.body);
      }
    }
  });
});
