import { expect, test } from "vitest";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";

test("a request names an executor by its id or by its program's name, and is answered by the id", async () => {
  const turnd = await fakeDaemon();
  const body = { input: "hello", request_id: "request-by-both-names" };
  const turn = await turnd.run({ ...body, executor: "codex" });
  expect(turn).toMatchObject({ status: "completed", executor: "cli-b" });
  expect(new Set((await turnd.events(turn.turn_id)).map(({ executor }) => executor))).toEqual(new Set(["cli-b"]));
  // By the other name it is the same request.
  const again = await turnd.request("POST", "/v1/turns", { ...body, executor: "cli-b" });
  expect([again.status, again.body.turn_id]).toEqual([200, turn.turn_id]);

  const session = await turnd.request("POST", "/v1/sessions", { executor: "codex", session_id: "session-by-name" });
  expect([session.status, session.body.executor]).toEqual([201, "cli-b"]);
  // And the session's executor is the one that is named, by either name.
  for (const executor of ["codex", "cli-b"]) {
    expect(await turnd.run({ input: "hello", executor, session_id: "session-by-name" })).toMatchObject({
      executor: "cli-b",
    });
  }
  const other = await turnd.request("POST", "/v1/turns", {
    input: "hello",
    executor: "opencode",
    session_id: "session-by-name",
  });
  expect([other.status, other.body.detail.code]).toEqual([409, "executor_mismatch"]);
  expect((await turnd.request("GET", "/v1/executors/codex")).body.id).toBe("cli-b");

  const unknown = await turnd.request("POST", "/v1/turns", { input: "hello", executor: "codx" });
  expect([unknown.status, unknown.body.detail.message]).toEqual([
    422,
    expect.stringContaining('cli-a (opencode), cli-b (codex), got "codx"'),
  ]);
  const { body: document } = await turnd.request("GET", "/openapi.json");
  expect(document.components.schemas.RequestedExecutor.enum).toEqual(["cli-a", "cli-b", "opencode", "codex"]);
  expect(document.components.schemas.CliName.enum).toEqual(["cli-a", "cli-b"]);
});
