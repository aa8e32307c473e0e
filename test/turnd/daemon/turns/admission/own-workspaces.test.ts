import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { CLI_USER, temporaryDirectory, userDirectory, userFile } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** turnd's own default: `startDaemon` shares one. */
const OWN = { TURND_SESSION_WORKSPACE: "own" };

/** Runs a turn in a session of its own, unless it names one. */
async function run(turnd: TestDaemon, input: string, body: Record<string, unknown> = {}) {
  const turn = await turnd.run({ ...("session_id" in body ? {} : { executor: "cli-b" }), input, ...body });
  expect(turn.status).toBe("completed");
  return { ...turn, workspace: await workspaceOf(turnd, turn.session_id) };
}

async function workspaceOf(turnd: TestDaemon, sessionId: string): Promise<string> {
  const { body } = await turnd.request("GET", `/v1/sessions/${encodeURIComponent(sessionId)}`);
  return body.workspace;
}

async function remove(turnd: TestDaemon, sessionId: string): Promise<void> {
  const { status } = await turnd.request("DELETE", `/v1/sessions/${encodeURIComponent(sessionId)}`);
  expect(status).toBe(204);
}

test("two sessions that write a file of one name have two files", async () => {
  const turnd = await sharedDaemon(OWN);
  const first = await run(turnd, "shell echo one > sum.sh");
  const second = await run(turnd, "shell echo two > sum.sh");
  expect(readFileSync(join(first.workspace, "sum.sh"), "utf8")).toBe("one\n");
  expect(readFileSync(join(second.workspace, "sum.sh"), "utf8")).toBe("two\n");
  expect(dirname(first.workspace)).toBe(turnd.workspace);
  expect(basename(first.workspace)).toBe(first.session_id);
  expect(statSync(first.workspace)).toMatchObject({ uid: CLI_USER.uid, gid: CLI_USER.gid });
  // The files API, the next turn and another start go on where the session works.
  const listed = await turnd.request("GET", `/v1/sessions/${first.session_id}/files`);
  expect(listed.body.entries.map(({ path }: { path: string }) => path)).toEqual(["sum.sh"]);
  const { output } = await run(turnd, "cwd", { session_id: first.session_id });
  expect(output).toBe(first.workspace);
  const { body: turn } = await turnd.request("GET", `/v1/turns/${first.turn_id}`);
  expect(turn.workspace).toBe(first.workspace);
});

test("a session keeps its workspace over a restart, also of a turnd that shares one", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, OWN);
  const own = await run(first, "shell echo one > kept");
  await first.stop();
  const second = await fakeDaemonIn(directory);
  const { output } = await run(second, "cwd", { session_id: own.session_id });
  expect(output).toBe(own.workspace);
  const shared = await run(second, "cwd");
  expect(shared.output).toBe(second.workspace);
  await remove(second, shared.session_id);
  expect(existsSync(join(own.workspace, "kept"))).toBe(true);
  await remove(second, own.session_id);
  expect(existsSync(own.workspace)).toBe(false);
});

test("a deleted session's files go, and nothing that a person named", async () => {
  const turnd = await sharedDaemon(OWN);
  const project = userDirectory(join(turnd.workspace, "project"));
  const named = await run(turnd, "shell echo x > named", { workspace: project });
  const own = await run(turnd, "shell mkdir -p deep/er && echo x > deep/er/file && ln -s /etc/passwd link");
  for (const { session_id } of [named, own]) await remove(turnd, session_id);
  expect(readdirSync(turnd.workspace)).toEqual(["project"]);
  expect(readdirSync(project)).toEqual(["named"]);
});

test("a workspace that another session's request names is that session's too, and stays", async () => {
  const turnd = await sharedDaemon(OWN);
  const first = await run(turnd, "shell mkdir inner && echo x > inner/file");
  const second = await run(turnd, "shell cat file", { workspace: join(first.workspace, "inner") });
  // A session that names its own changes nothing.
  const third = await run(turnd, "shell true");
  await run(turnd, "shell true", { session_id: third.session_id, workspace: third.workspace });
  for (const { session_id } of [first, second, third]) await remove(turnd, session_id);
  expect(readFileSync(join(first.workspace, "inner/file"), "utf8")).toBe("x\n");
  expect(existsSync(third.workspace)).toBe(false);
});

test("an id that is used again, and one with a person's directory, get a workspace of their own", async () => {
  const turnd = await sharedDaemon(OWN);
  const taken = userDirectory(join(turnd.workspace, "my-project:1"));
  writeFileSync(join(taken, "theirs"), "");
  const workspaces: string[] = [];
  for (let times = 0; times < 2; times += 1) {
    const { workspace } = await run(turnd, "shell echo x > mine", { session_id: "my-project:1", executor: "cli-b" });
    expect(readdirSync(workspace)).toEqual(["mine"]);
    // A colon would end an entry of PATH.
    expect(basename(workspace)).toMatch(/^my-project\+1~[0-9a-f]{8}$/);
    workspaces.push(workspace);
    await remove(turnd, "my-project:1");
  }
  expect(new Set(workspaces).size).toBe(2);
  expect(readdirSync(turnd.workspace)).toEqual(["my-project:1"]);
  expect(readdirSync(taken)).toEqual(["theirs"]);
});

test("a workspace that a tool has removed is made again, and a link in its place is not followed by the removal", async () => {
  const turnd = await sharedDaemon(OWN);
  const project = userDirectory(join(turnd.workspace, "project"));
  writeFileSync(join(project, "theirs"), "");
  userFile(join(project, "theirs"));
  const { session_id, workspace } = await run(turnd, "shell cd .. && rm -rf -- *-*");
  expect(existsSync(workspace)).toBe(false);
  const { output } = await run(turnd, "cwd", { session_id });
  expect(output).toBe(workspace);
  rmSync(workspace, { recursive: true });
  symlinkSync(project, workspace);
  await remove(turnd, session_id);
  expect(readdirSync(turnd.workspace)).toEqual(["project"]);
  expect(readdirSync(project)).toEqual(["theirs"]);
});

test("a session is made with a workspace of its own, or refused with what to change, and leaves nothing", async () => {
  const turnd = await sharedDaemon(OWN);
  const made = await turnd.request("POST", "/v1/sessions", { executor: "cli-b" });
  expect(made.status).toBe(201);
  expect(basename(made.body.workspace)).toBe(made.body.session_id);
  expect(readdirSync(turnd.workspace)).toEqual([made.body.session_id]);
  const refused = await turnd.request("POST", "/v1/turns", { executor: "cli-b", input: "x", session_id: "a b" });
  expect(refused.status).toBe(422);
  expect(readdirSync(turnd.workspace)).toEqual([made.body.session_id]);
});

test("of a session that cannot be written nothing is left in the root", async () => {
  const turnd = await sharedDaemon(OWN);
  // Where the directory of the sessions takes none: a file has the session's name.
  writeFileSync(join(turnd.state, "sessions/in-the-way"), "");
  const refused = await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: "in-the-way" });
  expect(refused.status).toBe(507);
  expect(readdirSync(turnd.workspace)).toEqual([]);
});

test("a removal that was broken off is finished by the next start", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, OWN);
  const { session_id, workspace } = await run(first, "shell echo x > file");
  // Nothing in a directory that its owner may not write can be removed by that user.
  chmodSync(first.workspace, 0o555);
  await remove(first, session_id);
  expect(await first.request("GET", `/v1/sessions/${session_id}`)).toMatchObject({ status: 404 });
  expect(existsSync(workspace)).toBe(true);
  await first.stop();
  chmodSync(first.workspace, 0o755);
  const second = await fakeDaemonIn(directory, OWN);
  await waitFor("the removal", () => !existsSync(workspace));
  await waitFor("its record", () => readdirSync(join(second.state, "sessions")).length === 0);
});
