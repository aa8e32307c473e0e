import { existsSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

test("where the sessions cannot be listed at start nothing is let in, though the disk is back later", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const body = { executor: "cli-b", session_id: "session-1", input: "hello", request_id: "request-1" };
  const { turn_id } = await first.run(body);
  await first.stop();
  const sessions = join(first.state, "sessions");
  const late = join(first.state, "late");
  renameSync(sessions, join(first.state, "elsewhere"));
  symlinkSync(late, sessions);

  const second = await fakeDaemonIn(directory);
  renameSync(join(first.state, "elsewhere"), late);
  const ran = join(second.workspace, "ran");
  for (const request of [body, { ...body, session_id: undefined }, { executor: "cli-b", input: `touch ${ran}` }]) {
    const { status, body: problem } = await second.request("POST", "/v1/turns", request);
    expect([status, problem.detail.code]).toEqual([507, "storage_full"]);
    expect(problem.detail.message).toContain("cannot be listed");
  }
  expect((await second.request("POST", "/v1/sessions", { executor: "cli-b", session_id: "session-1" })).status).toBe(
    507,
  );
  const { ready, checks } = (await second.request("GET", "/v1/ready")).body;
  expect(ready).toBe(false);
  expect(checks.find(({ name }: { name: string }) => name === "state")).toMatchObject({ ok: false });
  expect(existsSync(ran)).toBe(false);
  await second.stop();

  rmSync(sessions);
  renameSync(late, sessions);
  const third = await fakeDaemonIn(directory);
  expect((await third.request("POST", "/v1/turns", body)).body.turn_id).toBe(turn_id);
});

test.runIf(process.getuid?.() === 0)(
  "sessions whose directory cannot be narrowed are served all the same",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory);
    const { turn_id } = await first.run({ executor: "cli-b", session_id: "session-1", input: "hello" });
    await first.stop();
    const sessions = join(first.state, "sessions");
    await execa("chmod", ["755", sessions]);
    await execa("mount", ["--bind", sessions, sessions]);
    onTestFinished(async () => void (await execa("umount", ["--lazy", sessions])));
    await execa("mount", ["-o", "remount,ro,bind", sessions]);
    const second = await fakeDaemonIn(directory);
    expect((await second.request("GET", `/v1/turns/${turn_id}`)).body.status).toBe("completed");
    expect(second.log.some((line) => line.includes("may be listed by others"))).toBe(true);
  },
);
