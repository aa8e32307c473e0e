import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const runs = (workspace: string): number => readFileSync(join(workspace, "ran"), "utf8").trim().split("\n").length;

test("500 identical requests at once are one turn and one process", async () => {
  const turnd = await sharedDaemon();
  const body = { executor: "cli-b", request_id: "request-1", input: `touch ${turnd.workspace}/ran` };
  const answers = await Promise.all(Array.from({ length: 500 }, () => turnd.request("POST", "/v1/turns", body)));
  const ids = new Set(answers.map((answer) => answer.body.turn_id));
  expect(ids.size).toBe(1);
  expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1);
  expect(answers.every((answer) => answer.status === 202 || answer.status === 200)).toBe(true);
  await turnd.run(body);
  expect(runs(turnd.workspace)).toBe(1);
});

test("a retry after kill -9 and a restart gives the same turn, run once", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const body = { executor: "cli-b", request_id: "request-1", input: `touch ${first.workspace}/ran\nsleep 0.3` };
  const admitted = await first.admit(body);
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory);
  const repeated = await second.request("POST", "/v1/turns", body);
  expect([repeated.status, repeated.body.turn_id]).toEqual([200, admitted.turn_id]);
  expect((await second.run(body)).status).toBe("completed");
  expect(runs(second.workspace)).toBe(1);
});

test("the same body is the same whatever the order of its keys; another body is a conflict", async () => {
  const turnd = await sharedDaemon();
  const { turn_id } = await turnd.admit({
    executor: "cli-b",
    request_id: "request-2",
    input: "x",
    metadata: { a: "1", b: "2" },
  });
  const same = await turnd.request("POST", "/v1/turns?wait_ms=20000", {
    metadata: { b: "2", a: "1" },
    mode: "execute",
    input: "x",
    request_id: "request-2",
    executor: "cli-b",
  });
  expect([same.status, same.body.turn_id]).toEqual([200, turn_id]);
  const other = await turnd.request("POST", "/v1/turns", { executor: "cli-b", request_id: "request-2", input: "y" });
  expect([other.status, other.body.detail.code, other.body.detail.turn_id]).toEqual([
    409,
    "request_id_conflict",
    turn_id,
  ]);
  expect((await turnd.request("GET", "/v1/requests/request-2")).body.turn_id).toBe(turn_id);
});

test("a request of a deleted session is not run again, after a restart neither", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const body = { executor: "cli-b", session_id: "session-1", request_id: "request-1", input: "x" };
  const { turn_id } = await first.run(body);
  expect((await first.request("DELETE", "/v1/sessions/session-1")).status).toBeLessThan(300);
  const gone = async (turnd: typeof first): Promise<void> => {
    const answer = await turnd.request("POST", "/v1/turns", body);
    expect([answer.status, answer.body.detail.code, answer.body.detail.turn_id]).toEqual([
      404,
      "session_not_found",
      turn_id,
    ]);
  };
  await gone(first);
  await first.stop();
  await gone(await fakeDaemonIn(directory));
});

test("a turn whose log has got a line that is none is not run again", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const body = { executor: "cli-b", request_id: "request-1", input: `touch ${first.workspace}/ran` };
  const result = await first.run(body);
  first.kill("SIGKILL");
  await first.exited;
  const log = join(first.state, "sessions", result.session_id, "turns", result.turn_id, "events.jsonl");
  appendFileSync(log, `${"\0".repeat(5_000)}\n`);
  const second = await fakeDaemonIn(directory);
  const repeated = await second.request("POST", "/v1/turns", body);
  expect([repeated.status, repeated.body.turn_id]).toEqual([200, result.turn_id]);
  expect(await second.run(body)).toEqual(result);
  expect(runs(second.workspace)).toBe(1);
});

test.each(["turn.json", "events.jsonl"])("a turn whose %s cannot be read is not run again", async (name) => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const session = { executor: "cli-b", session_id: "session-1" };
  const body = { ...session, request_id: "request-1", input: `touch ${first.workspace}/ran` };
  const { turn_id } = await first.run(body);
  await first.stop();
  // As a later version may have written it.
  const path = join(first.state, "sessions/session-1/turns", turn_id, name);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll('{"v":1', '{"v":9'));
  const second = await fakeDaemonIn(directory);
  const repeated = await second.request("POST", "/v1/turns", body);
  expect([repeated.status, repeated.body.detail.code]).toEqual([409, "request_id_conflict"]);
  expect(repeated.body.detail).toMatchObject({ turn_id, message: expect.stringContaining("cannot be read") });
  const found = await second.request("GET", "/v1/requests/request-1");
  expect([found.status, found.body.detail.turn_id]).toEqual([404, turn_id]);
  expect((await second.run({ ...session, input: "hello" })).status).toBe("completed");
  expect((await second.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  expect((await second.request("POST", "/v1/turns", body)).body.detail).toMatchObject({ turn_id });
  expect(runs(second.workspace)).toBe(1);
});

test.each(["turns/{}/turn.json", "session.json"])(
  "what still runs of a turn whose %s cannot be read is ended by the next daemon",
  async (name) => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory);
    const { turn_id } = await first.admit({ executor: "cli-b", session_id: "session-1", input: "hello\nhang" });
    await waitFor("the CLI", () => processesNaming(turn_id, "anywhere").length > 0);
    first.kill("SIGKILL");
    await first.exited;
    writeFileSync(join(first.state, "sessions/session-1", name.replace("{}", turn_id)), "\0".repeat(300));
    await fakeDaemonIn(directory);
    expect(processesNaming(turn_id, "anywhere")).toEqual([]);
  },
);

test("a session that cannot be read keeps its requests and its id", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const session = { executor: "cli-b", session_id: "session-1" };
  const body = { executor: "cli-b", request_id: "request-1", input: `touch ${first.workspace}/ran` };
  const { turn_id } = await first.run({ ...body, ...session });
  await first.stop();
  writeFileSync(join(first.state, "sessions/session-1/session.json"), "\0".repeat(300));
  const second = await fakeDaemonIn(directory);
  for (const again of [body, { ...body, ...session }]) {
    const { status, body: problem } = await second.request("POST", "/v1/turns", again);
    expect([status, problem.detail.code, problem.detail.turn_id]).toEqual([409, "request_id_conflict", turn_id]);
  }
  const inIt = await second.request("POST", "/v1/turns", { ...session, input: "hello" });
  expect([inIt.status, inIt.body.detail.code]).toEqual([404, "session_not_found"]);
  const made = await second.request("POST", "/v1/sessions", session);
  expect([made.status, made.body.detail.code]).toEqual([409, "session_exists"]);
  expect(runs(second.workspace)).toBe(1);
});

test("of two requests that make one session with different executors at once, the later is refused", async () => {
  const turnd = await sharedDaemon();
  const bodies = ["cli-b", "cli-a"].map((executor) => ({ executor, session_id: "session-1", input: "x" }));
  const answers = await Promise.all(bodies.map((body) => turnd.request("POST", "/v1/turns", body)));
  const refused = answers.filter((answer) => answer.status !== 202);
  expect(refused.map((answer) => answer.body.detail.code)).toEqual(["executor_mismatch"]);
  expect((await turnd.request("GET", "/v1/sessions/session-1")).body.turns).toHaveLength(1);
});

test("a second daemon on a state directory refuses to start and names who holds it", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  await expect(fakeDaemonIn(directory)).rejects.toThrow(new RegExp(`held by another turnd: pid ${first.pid}`));
});
