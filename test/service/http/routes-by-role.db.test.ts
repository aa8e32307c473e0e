import { describe, expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { call } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";

type Row = readonly [
  method: "GET" | "POST" | "PUT" | "DELETE",
  path: string,
  body: unknown,
  statuses: readonly number[],
];

describe.each(ENGINES)("%s", (kind) => {
  test("each route answers no token, owner, another user, admin, superadmin and the owner's key as the design says", async () => {
    const storage = await freshStorage(kind);
    await putAgents(storage, await readAgentsFile(undefined));
    const { app, owner, other, admin, superadmin, key, keyId } = await appWithPeople(storage);
    const { token } = owner;
    const thread = (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, { token })).body.id;
    const submission = { agent_slug: "cli-b", thread_id: thread, query: "x", meta: { request_id: "request-0001" } };
    const { run_id: runId } = (await call(app, "POST", "/api/agent/runs", submission, { token })).body;
    const ownerId = owner.caller.userId;
    const agent = { slug: "made-1", name: "n", executor: "cli-b" };
    // Of the owner alone: not even a superadmin reads another's conversation (law 9).
    const own = [401, 200, 404, 404, 404, 200];
    const rows: Row[] = [
      ["GET", "/api/auth/me", undefined, [401, 200, 200, 200, 200, 200]],
      ["GET", `/api/auth/users/${ownerId}`, undefined, [401, 200, 403, 403, 200, 200]],
      ["GET", "/api/auth/users", undefined, [401, 403, 403, 200, 200, 403]],
      ["GET", "/api/departments", undefined, [401, 200, 200, 200, 200, 200]],
      ["POST", "/api/departments", { name: `d-${kind}` }, [401, 403, 403, 403, 200, 403]],
      ["GET", "/api/user/apikey/", undefined, [401, 200, 200, 200, 200, 200]],
      ["GET", `/api/user/apikey/${keyId}`, undefined, [401, 200, 403, 403, 200, 200]],
      ["PUT", `/api/user/apikey/${keyId}`, { name: "k" }, [401, 200, 403, 403, 200, 200]],
      ["GET", "/api/user/apikey/999999", undefined, [401, 404, 404, 404, 404, 404]],
      ["GET", "/api/agents", undefined, [401, 200, 200, 200, 200, 200]],
      ["POST", "/api/agents", agent, [401, 403, 403, 200, 409, 403]],
      ["DELETE", "/api/agents/made-1", undefined, [401, 403, 403, 200, 404, 404]],
      ["GET", `/api/chat/thread/${thread}`, undefined, own],
      ["PUT", `/api/chat/thread/${thread}`, { title: "t" }, own],
      ["GET", `/api/chat/thread/${thread}/history`, undefined, own],
      ["GET", `/api/chat/thread/${thread}/state`, undefined, own],
      ["GET", `/api/agent/thread/${thread}/requests`, undefined, own],
      ["GET", `/api/agent/thread/${thread}/active_run`, undefined, own],
      ["POST", `/api/agent/thread/${thread}/requests/continue`, undefined, [401, 409, 404, 404, 404, 409]],
      ["POST", "/api/agent/runs", submission, own],
      ["GET", "/api/agent/runs", undefined, [401, 200, 200, 200, 200, 200]],
      ["GET", `/api/agent/runs/${runId}`, undefined, own],
      ["GET", `/api/agent/runs/${runId}/result`, undefined, own],
      ["GET", `/api/agent/runs/${runId}/events?format=json`, undefined, own],
      ["GET", "/api/agent/requests/request-0001", undefined, own],
      ["POST", "/api/agent/requests/request-0001/steer", undefined, [401, 409, 404, 404, 404, 409]],
      ["POST", "/api/agent/requests/request-0001/cancel", undefined, [401, 409, 404, 404, 404, 409]],
      ["POST", `/api/agent/runs/${runId}/cancel`, undefined, own],
      ["GET", "/api/audit", undefined, [401, 403, 403, 403, 200, 403]],
      ["DELETE", `/api/user/apikey/${keyId}`, undefined, [401, 200, 403, 403, 200, 401]],
    ];
    const people = [undefined, owner, other, admin, superadmin, key];
    const answered = [];
    for (const [method, path, body] of rows) {
      const statuses: number[] = [];
      for (const person of people) {
        const answer = await call(app, method, path, body, person === undefined ? {} : { token: person.token });
        statuses.push(answer.status);
      }
      answered.push([method, path, statuses]);
    }
    expect(answered).toEqual(rows.map(([method, path, , statuses]) => [method, path, statuses]));
    const lists = await Promise.all(
      [other, admin, superadmin].map(async (each) => (await call(app, "GET", "/api/agent/runs", undefined, each)).body),
    );
    expect(lists).toEqual([{ runs: [] }, { runs: [] }, { runs: [] }]);
    const keys = await call(app, "GET", "/api/user/apikey/?user_id=" + ownerId, undefined, other);
    expect(keys.body).toEqual({ api_keys: [], total: 0 });
  });
});
