import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createAgents } from "../../../src/service/agents/agents.ts";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { call, type AppOverrides } from "../harness/app.ts";
import { PASSWORD } from "../harness/auth.ts";
import { appWithPeople } from "../harness/people.ts";
import { freshStorage } from "../harness/storage.ts";

async function openStand(
  overridesOf: (storage: Awaited<ReturnType<typeof freshStorage>>) => AppOverrides = () => ({}),
) {
  const storage = await freshStorage("postgres");
  await putAgents(storage, await readAgentsFile(undefined));
  const world = await appWithPeople(storage, overridesOf(storage));
  const ask = async (method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: object) => {
    const answer = await call(world.app, method, path, body, world.superadmin);
    return { ...answer, refusal: [answer.status, answer.body.detail?.code] };
  };
  return { ...world, ask };
}

test("what an agent cannot be or become is refused by name", async () => {
  const { ask } = await openStand();
  const agent = { slug: "mine", name: "n", executor: "cli-b" };
  expect((await ask("POST", "/api/agents", agent)).status).toBe(200);
  expect((await ask("POST", "/api/agents", agent)).refusal).toEqual([409, "slug_taken"]);
  const review = await ask("POST", "/api/agents", { ...agent, slug: "other", executor: "cli-a", mode: "review" });
  expect([review.refusal, review.body.detail.loc]).toEqual([
    [422, "mode_unsupported"],
    ["body", "mode"],
  ]);
  expect((await ask("PUT", "/api/agents/mine", { revision: 1, name: "m" })).body.agent.revision).toBe(2);
  const stale = await ask("PUT", "/api/agents/mine", { revision: 1, name: "k" });
  expect([stale.refusal, stale.body.detail.revision]).toEqual([[409, "stale_revision"], 2]);
  const both = await Promise.all(["a", "b"].map((name) => ask("PUT", "/api/agents/mine", { revision: 2, name })));
  expect(both.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([200, 409]);
  await ask("POST", "/api/chat/thread", { agent_id: "mine" });
  expect((await ask("DELETE", "/api/agents/mine")).refusal).toEqual([409, "agent_in_use"]);
  const revision = 3;
  expect((await ask("PUT", "/api/agents/mine", { revision, is_enabled: false })).status).toBe(200);
  expect(
    (await ask("POST", "/api/agents", { ...agent, slug: "x", instructions: "a\u0000" })).body.detail[0].loc,
  ).toEqual(["body", "instructions"]);
});

test("a password that is the username, and a request that there is not, are refused by name", async () => {
  const { ask } = await openStand();
  const refused = await ask("POST", "/api/auth/users", { username: "long-enough", password: "LONG-enough" });
  expect([refused.refusal, refused.body.detail.loc]).toEqual([
    [422, "password_invalid"],
    ["body", "password"],
  ]);
  const own = await ask("PUT", "/api/auth/me/password", { old_password: PASSWORD, new_password: "short" });
  expect(own.body.detail[0].loc).toEqual(["body", "new_password"]);
  for (const path of ["", "/events"])
    expect((await ask("GET", `/api/agent/requests/not-there${path}`)).refusal).toEqual([404, "request_not_found"]);
});

test("a fault is answered without its message, a full disk as 507", async () => {
  const faults = [
    new Error("secret words"),
    Object.assign(new Error("no space"), { code: "53100" }),
    // Of a file, such as an upload's.
    Object.assign(new Error("no space left on device, write"), { code: "ENOSPC" }),
  ];
  const { ask } = await openStand((storage) => ({
    agents: {
      ...createAgents(storage),
      list() {
        throw faults.shift() ?? new Error("asked too often");
      },
    },
  }));
  const fault = await ask("GET", "/api/agents");
  expect(fault.refusal).toEqual([500, "internal_error"]);
  expect(JSON.stringify(fault.body)).not.toContain("secret words");
  expect((await ask("GET", "/api/agents")).refusal).toEqual([507, "storage_full"]);
  expect((await ask("GET", "/api/agents")).refusal).toEqual([507, "storage_full"]);
});

test("a service that stops takes nothing more, answers with Retry-After, and ends a wait with the run as it is", async () => {
  let isShuttingDown = false;
  const { app, ask, superadmin } = await openStand(() => ({ isShuttingDown: () => isShuttingDown }));
  onTestFinished(() => app.close());
  const body = { agent_slug: "cli-b", thread_id: "mine", messages: [{ role: "user", content: "x" }] };
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const headers = { authorization: `Bearer ${superadmin.token}`, "content-type": "application/json" };
  const path = "/api/agent-invocation/agent-call/runs";
  const waiting = fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  let runId: unknown;
  while (typeof runId !== "string") {
    runId = (await ask("GET", "/api/agent/runs")).body.runs[0]?.run_id;
  }
  isShuttingDown = true;
  const late = await ask("POST", path, body);
  expect([late.refusal, late.headers["retry-after"]]).toEqual([[503, "shutting_down"], "5"]);
  expect((await ask("GET", `/api/agent/runs/${runId}/result`)).body).toMatchObject({ final: false });
  await app.close();
  const answer = await waiting;
  const { detail } = JSON.parse(await answer.text());
  expect([answer.status, answer.headers.get("retry-after"), detail.code]).toEqual([503, "5", "shutting_down"]);
  expect(detail.run).toMatchObject({ agent_run_id: runId, status: "pending", final: false });
});

test("a body that its client breaks off is no fault of the service's, and not of its database's", async () => {
  const lines: string[] = [];
  const { app, superadmin } = await openStand(() => ({
    logger: pino({ level: "trace" }, { write: (line: string) => void lines.push(line) }),
  }));
  const requests: IncomingMessage[] = [];
  app.server.on("request", (request: IncomingMessage) => requests.push(request));
  const { port } = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
  const socket = connect(Number(port), "127.0.0.1");
  const head = [
    "POST /api/chat/thread HTTP/1.1",
    "host: 127.0.0.1",
    `authorization: Bearer ${superadmin.token}`,
    "content-type: application/json",
    "content-length: 1000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n{"agent_id":`);
  await waitFor("its body to be read", () => requests[0]?.readableFlowing === true);
  socket.resetAndDestroy();
  await waitFor("the end of it", () => requests[0]?.closed === true);
  await app.close();
  expect(lines.filter((line) => /database|request failed/.test(line))).toEqual([]);
});
