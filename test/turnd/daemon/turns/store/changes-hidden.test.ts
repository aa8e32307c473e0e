import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { asUser } from "../../../../../src/turnd/daemon/process/run-as.ts";
import { findAccessGroup } from "../../../../../src/turnd/daemon/turns/store/change-store.ts";
import { startDaemon, type TestDaemon } from "../../../../harness/daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { CLI_USER, runnableProgram, temporaryDirectory, userDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

let turnd: TestDaemon;
beforeAll(async () => {
  const directory = temporaryDirectory(afterAll);
  turnd = await startDaemon({ directory, env: fakeEnv(directory) });
  afterAll(async () => void (await turnd.stop()));
});

const sh = (cwd: string, script: string): string => {
  const [file = "", ...args] = asUser(CLI_USER, ["/bin/bash", "-ec", script]);
  return execFileSync(file, args, { cwd, encoding: "utf8", env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent" } });
};

function repository(name: string): string {
  const directory = userDirectory(join(turnd.workspace, name));
  sh(directory, "git init -q . && git config user.name x && git config user.email x@example.invalid");
  sh(directory, "echo one > text; echo gone > gone; echo kept > kept; git add -A; git commit -qm one");
  return directory;
}

const patchOf = async (turnId: string): Promise<string> => (await fetch(`${turnd.url}/v1/turns/${turnId}/diff`)).text();
const storesOf = (sessionId: string): string => join(turnd.state, "sessions", sessionId, "changes");

test("what a tool does to the repository's own index and excludes hides no change of its turn", async () => {
  const workspace = repository("hidden");
  // The real CLI B gives it to its own git alone.
  const hiding = "unset GIT_DIR; git update-index --assume-unchanged text; git update-index --skip-worktree kept";
  // In the turn before: the copy is made of what that one has left.
  const first = await turnd.run({ executor: "cli-b", workspace, input: `shell ${hiding}`, diff: true });
  expect(sh(workspace, "git ls-files -v text kept")).toBe("S kept\nh text\n");
  const change =
    "unset GIT_DIR; echo two >> text; echo more >> kept; echo new > new; echo new >> .git/info/exclude; git add -A";
  const input = `shell ${change}; git update-index --assume-unchanged gone; rm gone; git commit -qm two`;
  const turn = await turnd.run({ session_id: first.session_id, workspace, input, diff: true });
  const patch = await patchOf(turn.turn_id);
  const names = [...patch.matchAll(/^diff --git a\/(.*) b\//gm)].map(([, name]) => name);
  expect(names).toEqual(["gone", "kept", "new", "text"]);
});

test.runIf(!CLI_USER.isSelf)("no tool can enter what git has recorded of a turn, or find it in a process", async () => {
  const workspace = repository("entered");
  const ready = join(workspace, "ready");
  const input = `shell touch ready\nhang`;
  const turn = await turnd.admit({ executor: "cli-b", workspace, input, diff: true });
  onTestFinished(() => void turnd.request("POST", `/v1/turns/${turn.turn_id}/cancel`));
  await waitFor("the turn", () => existsSync(ready));
  const stores = storesOf(turn.session_id);
  const store = join(stores, turn.turn_id);
  expect(readdirSync(store).toSorted()).toEqual(["exclude", "index", "objects", "said"]);
  expect([lstatSync(stores).uid, lstatSync(stores).mode & 0o777]).toEqual([0, 0o710]);
  for (const attempt of [
    `ls ${stores}`,
    `ls ${store}`,
    `cat ${store}/index`,
    `echo x > ${store}/index`,
    `chmod 777 ${store}`,
    `mv ${stores} ${stores}.old`,
    `cd ${turnd.state}/sessions/${turn.session_id}/home/../changes/${turn.turn_id}`,
    `sg ${lstatSync(stores).gid} -c 'ls ${store}' || newgrp ${lstatSync(stores).gid} < /dev/null`,
  ]) {
    expect(sh("/", `(${attempt}) > /dev/null 2>&1 && echo done || echo refused`), attempt).toBe("refused\n");
  }
  const tracer = ["/usr/bin/perl", runnableProgram("test/programs/trace-all", onTestFinished), `${process.pid}`, "60"];
  const [file = "", ...args] = asUser(CLI_USER, tracer);
  const tool = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void tool.kill("SIGKILL"));
  let seen = "";
  tool.stdout.on("data", (data: Buffer) => (seen += data.toString()));
  await waitFor("the tool", () => seen.startsWith("ready\n"));
  await turnd.request("POST", `/v1/turns/${turn.turn_id}/cancel`);
  await waitFor("its diff", async () => (await patchOf(turn.turn_id)).includes("b/ready"));
  tool.kill("SIGKILL");
  await once(tool, "exit");
  expect(seen.split("\n").filter((line) => line.includes("changes") || line.includes(stores))).toEqual([]);
  await waitFor("its removal", () => readdirSync(stores).length === 0);
});

test("what is left of a diff goes with its session, and with the session's next turn", async () => {
  const workspace = repository("left");
  const first = await turnd.run({ executor: "cli-b", workspace, input: "shell echo two >> text", diff: true });
  const stores = storesOf(first.session_id);
  const leave = (name: string): void => {
    sh("/", `mkdir -p ${turnd.workspace}/${name}/objects && chmod 000 ${turnd.workspace}/${name}/objects`);
    execFileSync("mv", [join(turnd.workspace, name), stores]);
  };
  leave("left-before");
  await turnd.run({ session_id: first.session_id, workspace, input: "hello", diff: true });
  await waitFor("its removal", () => readdirSync(stores).length === 0);
  leave("left-again");
  expect((await turnd.request("DELETE", `/v1/sessions/${first.session_id}`)).status).toBeLessThan(300);
  const sessions = join(turnd.state, "sessions");
  await waitFor("its removal", () => readdirSync(sessions).every((name) => !name.startsWith(first.session_id)));
});

test("the group that opens a store is one that the system has numbers for, and never root's or the CLIs'", () => {
  const other = { ...CLI_USER, isSelf: false, gid: 1000 };
  expect(findAccessGroup(other, "         0          0 4294967295\n")).toBe(65_432);
  expect(findAccessGroup(other, "0 1000 1\n1 100000 65536\n")).toBe(65_432);
  expect(findAccessGroup(other, "0 0 2000\n")).toBe(1_999);
  expect(findAccessGroup(other, "0 0 1001\n")).toBe(999);
  expect(findAccessGroup({ ...other, isSelf: true }, "0 0 4294967295\n")).toBe(undefined);
});

test("a file that git needs more memory for than it may have costs the diff, and the answer says so", async () => {
  const workspace = repository("memory");
  const turn = await turnd.run({ executor: "cli-b", workspace, input: "shell truncate -s 3G .gitignore", diff: true });
  expect(turn.status).toBe("completed");
  expect(await patchOf(turn.turn_id)).toMatch(/git cannot read the workspace: [Oo]ut of memory/);
  sh(workspace, "rm .gitignore");
  const next = await turnd.run({ session_id: turn.session_id, workspace, input: "shell echo two >> text", diff: true });
  expect(await patchOf(next.turn_id)).toContain("+two");
});
