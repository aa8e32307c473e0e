import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execaSync } from "execa";
import { expect, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const session = { executor: "cli-b", session_id: "session-1" };

/** What may come to stand where a file was, while turnd runs. Every read of the first fails with EIO. */
const FAULTS: Readonly<Record<string, (path: string) => void>> = {
  "a file that cannot be read": (path) => symlinkSync("/proc/self/mem", path),
  "a directory": (path) => mkdirSync(path),
  "a pipe": (path) => void execaSync("mkfifo", [path]),
  "a dangling link": (path) => symlinkSync("/nowhere/at/all", path),
  nothing: () => undefined,
};

async function endOf(turnd: TestDaemon, turnId: string) {
  await waitFor("its end", async () => {
    const { status } = (await turnd.request("GET", `/v1/turns/${turnId}`)).body;
    return status !== "queued" && status !== "running";
  });
  return (await turnd.request("GET", `/v1/turns/${turnId}/result`)).body;
}

async function expectServed(turnd: TestDaemon): Promise<void> {
  for (let round = 0; round < 6; round += 1) expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  expect((await turnd.run({ executor: "cli-b", input: "hello" })).status).toBe("completed");
  expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  expect(turnd.log.filter((line) => line.includes("nothing handled"))).toEqual([]);
}

test.each(Object.entries(FAULTS))("%s in place of a waiting turn's log ends that turn alone", async (_, put) => {
  const turnd = await sharedDaemon();
  const go = join(turnd.workspace, "go");
  const first = await turnd.admit({ ...session, input: `shell until [ -e ${go} ]; do sleep 0.02; done` });
  const second = await turnd.admit({ ...session, input: "hello" });
  const third = await turnd.admit({ ...session, input: "hello" });
  const log = join(turnd.state, "sessions/session-1/turns", second.turn_id, "events.jsonl");
  rmSync(log);
  put(log);
  writeFileSync(go, "");
  expect((await endOf(turnd, first.turn_id)).status).toBe("completed");
  const ended = await endOf(turnd, second.turn_id);
  // Where nothing stands in its way, the log is made anew.
  if (_ !== "nothing" && _ !== "a dangling link") expect(ended.failure).toMatchObject({ code: "storage_error" });
  expect((await endOf(turnd, third.turn_id)).status).toBe("completed");
  await expectServed(turnd);
});

test("a cancel of a turn whose end cannot be written does not answer that it is cancelled", async () => {
  const turnd = await sharedDaemon();
  const go = join(turnd.workspace, "go");
  await turnd.admit({ ...session, input: `shell until [ -e ${go} ]; do sleep 0.02; done` });
  const waiting = await turnd.admit({ ...session, input: "hello" });
  const log = join(turnd.state, "sessions/session-1/turns", waiting.turn_id, "events.jsonl");
  rmSync(log);
  symlinkSync("/proc/self/mem", log);
  const { status, body } = await turnd.request("POST", `/v1/turns/${waiting.turn_id}/cancel`, {});
  expect([status, body.detail.code]).toEqual([507, "storage_full"]);
  expect(body.detail.message).toContain("its end cannot be written");
  writeFileSync(go, "");
  await expectServed(turnd);
});

test.each([
  "prompt.txt",
  "stdout.jsonl",
  "stderr.log",
  "started",
  "input.txt",
  "turn.json",
  "turn.json.new",
  "exit.json",
  "result.json",
  "reserve",
])("a pipe in place of a waiting turn's %s holds nothing up", async (name) => {
  const turnd = await sharedDaemon();
  const go = join(turnd.workspace, "go");
  await turnd.admit({ ...session, input: `shell until [ -e ${go} ]; do sleep 0.02; done` });
  const waiting = await turnd.admit({ ...session, input: "hello" });
  const path = join(turnd.state, "sessions/session-1/turns", waiting.turn_id, name);
  rmSync(path, { force: true });
  execaSync("mkfifo", [path]);
  writeFileSync(go, "");
  await endOf(turnd, waiting.turn_id);
  await expectServed(turnd);
});
