import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { childrenOf } from "../../../../../src/turnd/daemon/process/keeper/process-table.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** A daemon whose CLI counts how often it is asked for its version, and takes its time to answer. */
async function countingDaemon(env: Record<string, string> = {}) {
  const directory = temporaryDirectory(onTestFinished);
  const counts = join(directory, "counts");
  mkdirSync(counts);
  chmodSync(counts, 0o777);
  const program = join(directory, "bin/fake-cli-b");
  mkdirSync(join(directory, "bin"));
  writeProgram(program, counts, "0.139.0");
  const turnd = await fakeDaemonIn(directory, env);
  const asked = (question: "--version" | "features" = "--version"): number => {
    try {
      return readFileSync(join(counts, question), "utf8").length;
    } catch {
      return 0; // Not asked yet.
    }
  };
  return { turnd, program, counts, asked };
}

function writeProgram(program: string, counts: string, version: string): void {
  writeFileSync(
    `${program}.new`,
    `#!/bin/sh\nprintf x >>"${counts}/$1"\nsleep 0.3\n[ "$1" = --version ] && echo fake-cli-b ${version}\n`,
  );
  chmodSync(`${program}.new`, 0o755);
  renameSync(`${program}.new`, program);
}

/** Sends many requests at once and sees how many processes turnd has below it meanwhile. */
async function flood(turnd: TestDaemon, path: string, headers: Record<string, string> = {}): Promise<number> {
  let peak = 0;
  let isDone = false;
  const requests = Promise.all(
    Array.from({ length: 300 }, () => turnd.request("GET", path, undefined, headers)),
  ).finally(() => (isDone = true));
  await waitFor("the answers", () => {
    peak = Math.max(peak, childrenOf(turnd.pid)?.length ?? 0);
    return isDone;
  });
  expect(new Set((await requests).map(({ status }) => status))).toEqual(new Set([200]));
  return peak;
}

test("300 requests for readiness without a token start one check", async () => {
  const { turnd, asked } = await countingDaemon({ TURND_TOKEN: "a-token-of-this-test" });
  expect(await flood(turnd, "/v1/ready")).toBeLessThanOrEqual(4);
  expect(await flood(turnd, "/v1/ready")).toBeLessThanOrEqual(4);
  expect(asked()).toBe(1);
  // A binary that ends without a list has none: it is not asked for one at every look.
  expect(asked("features")).toBe(1);
});

test.each(["/v1/executors", "/v1/executors/cli-b", "/v1/sandbox", "/metrics", "/openapi.json"])(
  "300 requests for %s start one check at most",
  async (path) => {
    const { turnd, asked } = await countingDaemon();
    // Twice: what is kept counts too.
    for (let floods = 0; floods < 2; floods += 1) expect(await flood(turnd, path)).toBeLessThanOrEqual(4);
    expect(asked()).toBeLessThanOrEqual(1);
  },
);

test("admissions at the same time check a few workspaces at a time", async () => {
  const { turnd } = await countingDaemon();
  let peak = 0;
  let isDone = false;
  const sessions = Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: `session-${index}` }),
    ),
  ).finally(() => (isDone = true));
  await waitFor("the answers", () => {
    peak = Math.max(peak, childrenOf(turnd.pid)?.length ?? 0);
    return isDone;
  });
  expect((await sessions).every(({ status }) => status === 201)).toBe(true);
  expect(peak).toBeLessThanOrEqual(6);
});

/** A daemon whose CLI A never says its version; its mark is seen among the commands of the machine while it is asked. */
async function hangingDaemon() {
  const directory = temporaryDirectory(onTestFinished);
  const hanging = join(directory, "hanging");
  const mark = `sleep ${process.pid}77`;
  writeFileSync(hanging, `#!/bin/sh\nsetsid ${mark}\n`);
  chmodSync(hanging, 0o755);
  return { turnd: await fakeDaemonIn(directory, { CLI_A_BIN: hanging }), hanging, mark };
}

test("a CLI that never prints its version neither holds readiness up nor hides the other CLI, and ends with turnd", async () => {
  const { turnd, mark } = await hangingDaemon();
  const { status, body } = await turnd.request("GET", "/v1/ready");
  expect(status).toBe(200);
  expect(body.checks).toContainEqual({
    name: "cli-a",
    ok: false,
    message: expect.stringContaining("not answered yet"),
  });
  expect(body.checks).toContainEqual({ name: "cli-b", ok: true });
  expect(await commands()).toContain(mark);
  await turnd.stop();
  await waitFor("its end", async () => !(await commands()).includes(mark));
});

test("a client that looks at executors does not wait for a CLI that never prints its version", async () => {
  const { turnd, hanging, mark } = await hangingDaemon();
  const unknown = {
    id: "cli-a",
    available: false,
    checking: true,
    unavailable: { code: "executor_unavailable", message: expect.stringContaining("not answered yet") },
  };
  const listed = await turnd.request("GET", "/v1/executors");
  expect(listed.body.executors).toEqual([
    expect.objectContaining(unknown),
    expect.objectContaining({ id: "cli-b", available: true, version: "0.139.0" }),
  ]);
  expect(listed.body.executors[0]).not.toHaveProperty("version");
  // Later there is nothing to wait for: twenty clients after one another, who would wait 40 s if each waited anew.
  const startedAt = performance.now();
  for (let asked = 0; asked < 20; asked += 1) {
    expect((await turnd.request("GET", "/v1/executors/cli-a")).body).toMatchObject(unknown);
  }
  expect(performance.now() - startedAt).toBeLessThan(20_000);

  // A CLI that is put in its place is looked at when the one that hangs is given up.
  writeFileSync(`${hanging}.new`, "#!/bin/sh\necho 1.14.34\n");
  chmodSync(`${hanging}.new`, 0o755);
  renameSync(`${hanging}.new`, hanging);
  for (const pid of processesNaming(mark.slice("sleep ".length))) process.kill(pid, "SIGKILL");
  await waitFor("its version", async () => {
    const { body } = await turnd.request("GET", "/v1/executors/cli-a");
    return body.version === "1.14.34" && body.checking === undefined;
  });
});

async function commands(): Promise<string> {
  return (await execa("ps", ["-eo", "args"])).stdout;
}

test("readiness follows what happens to the CLI and to the workspace", async () => {
  const { turnd, program, counts } = await countingDaemon();
  const isReady = async (): Promise<boolean> => (await turnd.request("GET", "/v1/ready")).status === 200;
  expect(await isReady()).toBe(true);

  renameSync(program, `${program}.away`);
  await waitFor("no CLI", async () => !(await isReady()));
  renameSync(`${program}.away`, program);
  await waitFor("the CLI", isReady);

  writeProgram(program, counts, "0.140.0");
  await waitFor("its new version", async () => {
    const { body } = await turnd.request("GET", "/v1/executors/cli-b");
    return body.version === "0.140.0";
  });

  chmodSync(turnd.workspace, 0o000);
  onTestFinished(() => chmodSync(turnd.workspace, 0o755));
  await waitFor("no workspace", async () => !(await isReady()));
  chmodSync(turnd.workspace, 0o755);
  await waitFor("the workspace", isReady);
});
