import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { childrenOf, readArguments } from "../../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { startDaemon, type TestDaemon } from "../../../../harness/daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { ownUid } from "../../../../harness/own-uid.ts";
import { lookAtExecutor } from "../../../../harness/look-at-executor.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** A user that no one else has, so that a limit of processes counts this test's alone; root's are not limited. */
const UID = ownUid();
const AS_OTHER = ["setpriv", `--reuid=${UID}`, `--regid=${UID}`, "--clear-groups"];
/** The repository, with its Node, may lie where that user cannot go. */
const READING_ALL = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"];
const IS_ROOT = process.getuid?.() === 0;
const NO_PROCESS = "No process could be started: the sandbox has reached its limit of processes; ";

/** A daemon that a limit of processes binds. */
async function startLimited(): Promise<TestDaemon> {
  const directory = temporaryDirectory(onTestFinished);
  const workspace = join(directory, "own");
  mkdirSync(workspace);
  const env = { ...fakeEnv(directory), TURND_RUN_AS: "self", TURND_WORKSPACE: workspace };
  await execa("chown", ["-R", `${UID}:${UID}`, directory]);
  const turnd = await startDaemon({ directory, env, through: [...AS_OTHER, ...READING_ALL] });
  onTestFinished(async () => void (await turnd.stop()));
  return turnd;
}

/** From now on every start of a process fails, as under a fork bomb; or no longer. */
async function limit(turnd: TestDaemon, processes: "1" | "1000"): Promise<void> {
  // It forks for turnd, and would have the same limit from a container.
  const starter = await waitFor("the starter", () =>
    childrenOf(turnd.pid)?.find((pid) => readArguments(pid)?.startsWith("turnd-starter")),
  );
  for (const pid of [turnd.pid, starter]) {
    const [command, ...args] = [...AS_OTHER, "prlimit", "--pid", String(pid), `--nproc=${processes}:`];
    await execa(command, args);
  }
}

test.runIf(IS_ROOT)(
  "where no process is left to be had, an admission is refused with just that, and later goes through",
  async () => {
    const turnd = await startLimited();
    const body = { executor: "cli-b", input: "hello", request_id: "exhausted-1" };
    await limit(turnd, "1");
    const answer = await turnd.request("POST", "/v1/turns", body);
    expect([answer.status, answer.body.detail.code]).toEqual([503, "resources_exhausted"]);
    expect(answer.body.detail.message).toContain(NO_PROCESS);
    expect(answer.headers.get("retry-after")).toBe("5");
    await limit(turnd, "1000");
    expect(await turnd.run(body)).toMatchObject({ status: "completed" });
  },
);

test.runIf(IS_ROOT)("readiness says so, executors are asked again, and health goes on answering", async () => {
  const turnd = await startLimited();
  await limit(turnd, "1");
  expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  const { status, body } = await turnd.request("GET", "/v1/ready");
  expect(status).toBe(503);
  expect(body.checks).toContainEqual({ name: "processes", ok: false, message: expect.stringContaining(NO_PROCESS) });
  expect((await lookAtExecutor(turnd, "cli-b")).unavailable).toMatchObject({
    code: "resources_exhausted",
  });
  await limit(turnd, "1000");
  await waitFor("readiness", async () => (await turnd.request("GET", "/v1/ready")).status === 200);
});

test.runIf(IS_ROOT)(
  "a turn that cannot be started for want of a process fails with that, and can be sent again",
  async () => {
    const turnd = await startLimited();
    const first = await turnd.admit({ executor: "cli-b", input: "hang" });
    await waitFor("the first turn", async () =>
      (await turnd.events(first.turn_id)).some(({ type }) => type === "turn.started"),
    );
    const { session_id } = first;
    const second = await turnd.admit({ session_id, input: "hello" });
    await limit(turnd, "1");
    expect((await turnd.request("POST", `/v1/turns/${first.turn_id}/cancel`)).status).toBe(200);
    const ended = await waitFor("the second turn's end", async () => {
      const { status, body } = await turnd.request("GET", `/v1/turns/${second.turn_id}/result`);
      return status === 200 && body;
    });
    expect(ended).toMatchObject({
      status: "failed",
      failure: { code: "resources_exhausted", retryable: true, message: expect.stringContaining(NO_PROCESS) },
    });
    await limit(turnd, "1000");
    expect(await turnd.run({ session_id, input: "hello" })).toMatchObject({ status: "completed" });
  },
);

test.runIf(IS_ROOT)("a shell that cannot be started is refused with that", async () => {
  const turnd = await startLimited();
  await limit(turnd, "1");
  const answer = await turnd.request("POST", "/v1/shell/sessions", { cols: 80, rows: 24 });
  expect([answer.status, answer.body.detail.code]).toEqual([503, "resources_exhausted"]);
});
