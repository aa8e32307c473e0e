import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, inject, onTestFinished, test } from "vitest";
import { childOptionsOf, createEmbeddedSandboxes } from "../../../../src/service/sandboxes/embedded/embedded.ts";
import { startChild } from "../../../../src/service/sandboxes/embedded/turnd-child.ts";
import type { Storage } from "../../../../src/service/storage/storage.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { freshStorage } from "../../harness/storage.ts";

const SCOPE = { threadPk: 1, sessionId: "6eb6dc80-d239-42a2-96ab-d72e00000001", userId: 1, sandboxId: null };

const SECRET = "test-sandbox-secret-0123456789abcdef";

function optionsFor(dataDirectory: string) {
  return {
    dataDirectory,
    command: [process.execPath, inject("turnd")],
    env: {
      ...fakeEnv(dataDirectory),
      TURND_HOME: userDirectory(join(dataDirectory, "home")),
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
    },
    startMs: 60_000,
  };
}

function optionsOf(dataDirectory: string, more: Record<string, string>) {
  const options = optionsFor(dataDirectory);
  return {
    ...options,
    env: {
      ...options.env,
      SERVICE_KEY_SECRET: "must not be there",
      DATABASE_URL: "postgres://must-not-be-there",
      DATABASE_URL_FILE: "/must-not-be-there",
      ...more,
    },
    sandboxSecret: SECRET,
    stopMs: 30_000,
    maxTurns: 4,
    owner: CLI_USER.isSelf ? undefined : { uid: 1000, gid: 1000 },
  };
}

function create(storage: Storage, dataDirectory: string, more: Record<string, string> = {}) {
  const logger = pino({ level: process.env["SVC_TEST_LOG"] ?? "silent" });
  return createEmbeddedSandboxes({ ...optionsOf(dataDirectory, more), storage, logger });
}

test("what turnd warns of at its start is in the service's log, a mistyped variable among it", async () => {
  const storage = await freshStorage("pglite");
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const options = optionsOf(temporaryDirectory(onTestFinished), { CLI_B_BASEURL: "https://secret.invalid" });
  const sandboxes = createEmbeddedSandboxes({ ...options, storage, logger });
  onTestFinished(() => sandboxes.close());
  await sandboxes.acquire(SCOPE, new AbortController().signal);
  expect(lines.join("")).toContain(
    "turnd: CLI_B_BASEURL is no variable of turnd and has no effect: did you mean CLI_B_BASE_URL?",
  );
  expect(lines.join("")).not.toContain("secret.invalid");
});

test("turnd is started with a workspace for each session, started again when it ends, and stopped with the service", async () => {
  const storage = await freshStorage("pglite");
  const directory = temporaryDirectory(onTestFinished);
  const sandboxes = create(storage, directory);
  const { signal } = new AbortController();
  const sandbox = await sandboxes.acquire(SCOPE, signal);
  expect(sandbox.generation).toBe(1);
  const workspace = await sandboxes.prepareWorkspace(SCOPE);
  expect(statSync(workspace ?? "")).toMatchObject({ uid: CLI_USER.uid });
  await sandbox.client.createSession({ executor: "cli-b", session_id: SCOPE.sessionId, workspace });
  const { turn_id } = await sandbox.client.submit({
    session_id: SCOPE.sessionId,
    request_id: "request-0001",
    input: "env",
  });
  const events = [];
  for await (const event of sandbox.client.follow(turn_id, { lostAfterMs: 60_000 })) events.push(event);
  expect(JSON.stringify(events)).not.toContain("must");
  expect(events.at(-1)).toMatchObject({ data: { status: "completed" } });

  // What follows a turn goes on at the turnd that takes it up, at its new address.
  const followed = await sandbox.client.submit({
    session_id: SCOPE.sessionId,
    request_id: "request-0002",
    input: "paced 20 0.1\nDone.",
  });
  const seqs: number[] = [];
  for await (const event of sandbox.client.follow(followed.turn_id, { lostAfterMs: 60_000 })) {
    if (event.type === "turn.started") process.kill(noted(directory), "SIGKILL");
    seqs.push(event.seq);
  }
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect((await sandbox.client.result(followed.turn_id)).status).toBe("completed");
  const next = await waitFor("the next generation", async () => {
    const made = await sandboxes.acquire(SCOPE, signal);
    return made.generation === 2 ? made : undefined;
  });
  expect((await next.client.session(SCOPE.sessionId)).turns).toEqual([turn_id, followed.turn_id]);
  const pid = noted(directory);
  await sandboxes.close();
  await gone(pid);
});

/** What a service before this one did, which was killed. */
async function leaveTurnd(directory: string, more: Record<string, string> = {}) {
  userDirectory(join(directory, "workspaces/default"));
  return startChild(childOptionsOf(optionsOf(directory, more)), 1, new AbortController().signal);
}

test("a turnd that a killed service has left is used again", async () => {
  const storage = await freshStorage("pglite");
  const directory = temporaryDirectory(onTestFinished);
  const left = await leaveTurnd(directory, { TERM: "one terminal" });
  const sandboxes = create(storage, directory, { TERM: "another" });
  const taken = await sandboxes.acquire(SCOPE, new AbortController().signal);
  expect(taken.generation).toBe(1);
  expect(noted(directory)).toBe(left.pid);
  await sandboxes.close();
  await gone(left.pid);
});

test("a turnd that was started with another provider is stopped, and one with the present settings started", async () => {
  const storage = await freshStorage("pglite");
  const directory = temporaryDirectory(onTestFinished);
  const left = await leaveTurnd(directory, { CLI_B_API_KEY: "the-key-of-before" });
  const sandboxes = create(storage, directory, { CLI_B_API_KEY: "the-key-of-now" });
  await sandboxes.acquire(SCOPE, new AbortController().signal);
  const pid = noted(directory);
  expect(pid).not.toBe(left.pid);
  await gone(left.pid);
  expect(readFileSync(`/proc/${pid}/environ`, "utf8")).toContain("the-key-of-now");
  expect(readFileSync(join(directory, "turnd.json"), "utf8")).not.toContain("the-key");
  await sandboxes.close();
});

test("after another SERVICE_SANDBOX_SECRET the turnd of before, which refuses us, is stopped and one of ours started", async () => {
  const storage = await freshStorage("pglite");
  const directory = temporaryDirectory(onTestFinished);
  const left = await leaveTurnd(directory);
  const logger = pino({ level: "silent" });
  const sandboxSecret = "another-sandbox-secret-0123456789abcdef";
  const sandboxes = createEmbeddedSandboxes({ ...optionsOf(directory, {}), sandboxSecret, storage, logger });
  const { client } = await sandboxes.acquire(SCOPE, new AbortController().signal);
  expect(noted(directory)).not.toBe(left.pid);
  await gone(left.pid);
  expect(await client.executors()).not.toEqual([]);
  await sandboxes.close();
});

function noted(directory: string): number {
  return JSON.parse(readFileSync(join(directory, "turnd.json"), "utf8")).pid;
}

test("a caller that stops waiting for turnd's start returns at once, and the start goes on", async () => {
  const storage = await freshStorage("pglite");
  const directory = temporaryDirectory(onTestFinished);
  const sandboxes = create(storage, directory);
  const giveUp = new AbortController();
  const [one, other] = [
    sandboxes.acquire(SCOPE, giveUp.signal),
    sandboxes.acquire(SCOPE, new AbortController().signal),
  ];
  giveUp.abort(new Error("cancelled"));
  await expect(one).rejects.toThrow("cancelled");
  expect(await sandboxes.look()).toMatchObject({ ok: false });
  expect((await other).generation).toBe(1);
  await sandboxes.close();
});

test("a turnd that cannot start is reported with the end of its log", async () => {
  const storage = await freshStorage("pglite");
  const directory = temporaryDirectory(onTestFinished);
  const sandboxes = createEmbeddedSandboxes({
    storage,
    dataDirectory: directory,
    command: ["/bin/sh", "-c", "echo no such luck; exit 3"],
    env: {},
    sandboxSecret: "test-sandbox-secret-0123456789abcdef",
    startMs: 10_000,
    stopMs: 1_000,
    maxTurns: 1,
    logger: pino({ level: "silent" }),
  });
  await expect(sandboxes.acquire(SCOPE, new AbortController().signal)).rejects.toMatchObject({
    reason: "sandbox_start_failed",
    message: expect.stringContaining("no such luck"),
  });
  expect(await sandboxes.look()).toMatchObject({ ok: false });
  await sandboxes.close();
});

/** A child of this process that has ended is a zombie until Node has collected it. */
async function gone(pid: number): Promise<void> {
  await waitFor(`the end of process ${pid}`, () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
}
