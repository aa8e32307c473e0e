import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execaSync } from "execa";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startDaemon, type TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { temporaryDirectory, userDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** What may become of a file or directory. root is stopped by no mode, so a file of which every read fails stands for those. */
const FAULTS: Readonly<Record<string, (path: string) => void>> = {
  missing: remove,
  empty,
  truncated: (path) => (isDirectory(path) ? emptyHalf(path) : truncateSync(path, Math.floor(lstatSync(path).size / 2))),
  garbage: (path) => replace(path, () => writeFileSync(path, "\0garbage {]\n\xff\n")),
  "a directory": (path) => replace(path, () => mkdirSync(join(path, "inner"), { recursive: true })),
  "a dangling link": (path) => replace(path, () => symlinkSync("/nowhere/at/all", path)),
  "a file that cannot be read": (path) => replace(path, () => symlinkSync("/proc/self/mem", path)),
  "a pipe": (path) => replace(path, () => execaSync("mkfifo", [path])),
};

const OF_A_TURN = ["turn.json", "prompt.txt", "events.jsonl"] as const;
const OF_A_PROCESS = ["started", "stdout.jsonl", "stderr.log", "exit.json"] as const;
/** The files that each kind of turn has, below its directory; "." is the directory itself. */
const TURNS = {
  ended: [".", ...OF_A_TURN, ...OF_A_PROCESS, "result.json"],
  degraded: ["input.txt", "resume.started", "resume.exit.json", "resume.stdout.jsonl", "resume.stderr.log"],
  interrupted: [...OF_A_TURN, ...OF_A_PROCESS],
  queued: [...OF_A_TURN],
} as const;
type Kind = keyof typeof TURNS;
/** What a session has besides; "" is the session's directory. */
const OF_A_SESSION = ["", "session.json", "home", "turns"] as const;

/** A session that is to be damaged: where, seen from its directory, and in which of its turns. */
interface Victim {
  readonly id: string;
  readonly kind: Kind;
  readonly target: string;
  readonly turnId: string;
}

const victims: Victim[] = [];
const HEALTHY = "session-healthy";
let template = "";
let healthy: { turnId: string; events: string } = { turnId: "", events: "" };

beforeAll(async () => {
  const cleanUps: (() => void)[] = [];
  template = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  await prepare();
  return () => cleanUps.forEach((cleanUp) => cleanUp());
}, 300_000);

/** Every kind of turn, a session for each file of it, as a daemon that was killed has left them. */
async function prepare(): Promise<void> {
  const env = { ...fakeEnv(template), TURND_MAX_TURNS: "40" };
  const turnd = await startDaemon({ directory: template, env });
  const go = join(turnd.workspace, "go");
  const run = async (sessionId: string, name: string) =>
    turnd.run({ executor: "cli-b", session_id: sessionId, input: `touch ${ranFile(turnd.workspace, name)}` });
  const first = await run(HEALTHY, HEALTHY);
  healthy = { turnId: first.turn_id, events: (await turnd.request("GET", `/v1/turns/${first.turn_id}/events`)).text };
  for (const [kind, target] of plan()) {
    const id = `victim-${victims.length}-${kind}`;
    const input = `touch ${ranFile(turnd.workspace, id)}`;
    const body = { executor: "cli-b", session_id: id };
    if (kind === "ended") victims.push({ id, kind, target, turnId: (await run(id, id)).turn_id });
    if (kind === "degraded") {
      await turnd.run({ ...body, input: "hello" });
      const state = join(turnd.state, "sessions", id, "home/fake-cli-b");
      for (const name of readdirSync(join(state, "sessions"))) rmSync(join(state, "sessions", name));
      victims.push({ id, kind, target, turnId: (await run(id, id)).turn_id });
    }
    if (kind === "interrupted" || kind === "queued") {
      const hold = `shell until [ -e ${go} ]; do sleep 0.05; done`;
      const holder = await turnd.admit({ ...body, input: kind === "queued" ? hold : `${input}\n${hold}` });
      const { turn_id: turnId } = kind === "queued" ? await turnd.admit({ ...body, input }) : holder;
      victims.push({ id, kind, target, turnId });
    }
  }
  const begun = victims.filter(({ kind }) => kind === "interrupted" || kind === "queued");
  for (const { id } of begun) {
    await waitFor(`${id} to run`, () => started(turnd.state, id).length > 0, 60_000);
  }
  await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: "session-deleted" });
  await turnd.run({ executor: "cli-b", session_id: "session-deleted", input: "hello", request_id: "request-deleted" });
  await turnd.request("DELETE", "/v1/sessions/session-deleted");
  turnd.kill("SIGKILL");
  await turnd.exited;
  writeFileSync(go, "");
  for (const { id } of begun) {
    await waitFor(
      `the end of ${id}`,
      () => started(turnd.state, id).every((path) => existsSync(join(path, "exit.json"))),
      60_000,
    );
  }
}

function plan(): (readonly [Kind, string])[] {
  const turns = Object.entries(TURNS) as [Kind, readonly string[]][];
  return [
    ...OF_A_SESSION.map((target) => ["ended", target] as const),
    ...turns.flatMap(([kind, names]) => names.map((name) => [kind, join("turns/TURN", name)] as const)),
  ];
}

/** Directories of a session's turns whose process was started. */
function started(state: string, sessionId: string): string[] {
  const turns = join(state, "sessions", sessionId, "turns");
  return readdirSync(turns)
    .map((name) => join(turns, name))
    .filter((path) => existsSync(join(path, "started")));
}

const ranFile = (workspace: string, name: string): string => join(workspace, `ran-${name}`);

/** A daemon on a copy of the template, after something was done to it. */
async function daemonAfter(change: (state: string) => void): Promise<TestDaemon> {
  const directory = temporaryDirectory(onTestFinished);
  execaSync("cp", ["-a", join(template, "state"), join(template, "workspace"), directory]);
  userDirectory(join(directory, "workspace"));
  change(join(directory, "state"));
  // Their script names the workspace that they were admitted for.
  return fakeDaemonIn(directory, { TURND_WORKSPACE_ROOTS: "/", TURND_MAX_TURNS: "8" });
}

const pathOf = (state: string, { id, target, turnId }: Victim): string =>
  join(state, "sessions", id, target.replace("TURN", turnId));

async function expectServed(turnd: TestDaemon): Promise<void> {
  expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  expect((await turnd.request("GET", `/v1/turns/${healthy.turnId}/events`)).text).toBe(healthy.events);
  expect((await turnd.request("GET", `/v1/turns/${healthy.turnId}/result`)).body.status).toBe("completed");
  expect((await turnd.run({ session_id: HEALTHY, input: "again" })).status).toBe("completed");
  expect((await turnd.run({ executor: "cli-b", input: "new" })).status).toBe("completed");
}

/** What a client sees of a damaged session: it is there or reported as unreadable, and each of its turns ends or is. */
async function look(
  turnd: TestDaemon,
  { id, kind, turnId, target }: Victim,
): Promise<"gone" | "unreadable" | "served"> {
  const session = await turnd.request("GET", `/v1/sessions/${id}`);
  const turn = await waitFor(
    `turn ${turnId}`,
    async () => {
      const answer = await turnd.request("GET", `/v1/turns/${turnId}`);
      return answer.status !== 200 || !["queued", "running"].includes(answer.body.status) ? answer : undefined;
    },
    60_000,
  );
  // What is gone with its directory was never there, as far as anyone can tell.
  const isWithDirectory = target === "" || target === "turns" || target.endsWith("/TURN");
  // Law: at most once. Turn.json is what admits a turn. One that has not begun was never admitted without it.
  const isUnadmitted = kind === "queued" && target.endsWith("turn.json");
  const isTold = [session, turn].some(({ body }) => body.detail?.message.includes("cannot be read"));
  for (const { status } of [session, turn]) {
    expect([200, 404], `${id} ${target}`).toContain(status);
    if (status === 404 && !isWithDirectory && !isUnadmitted) expect(isTold, `${id} ${target}`).toBe(true);
  }
  if (turn.status === 200) {
    const result = await turnd.request("GET", `/v1/turns/${turnId}/result`);
    expect([200, 500]).toContain(result.status);
    await turnd.request("GET", `/v1/turns/${turnId}/events`).catch(() => undefined);
  }
  if (session.status === 404 && session.body.detail.message.startsWith("there is no")) return "gone";
  return isTold ? "unreadable" : "served";
}

describe.skipIf(process.getuid?.() !== 0)("whatever is damaged of a state", () => {
  test.each(Object.entries(FAULTS))(
    "%s in place of each file and directory: turnd starts, serves the rest, and can delete it",
    async (_, put) => {
      for (const { id, kind } of victims)
        if (kind === "queued") rmSync(ranFile(join(template, "workspace"), id), { force: true });
      const turnd = await daemonAfter((state) => victims.forEach((victim) => put(pathOf(state, victim))));
      await expectServed(turnd);
      const gone: string[] = [];
      for (const victim of victims) {
        const seen = await look(turnd, victim);
        if (seen === "gone") gone.push(victim.id);
        if (seen === "unreadable") {
          expect(
            turnd.log.some((line) => line.includes(victim.id) && line.includes("cannot be read")),
            victim.id,
          ).toBe(true);
          expect(existsSync(join(turnd.state, "sessions", victim.id)) || victim.target === "", victim.id).toBe(true);
        }
        const ran = ranFile(join(template, "workspace"), victim.id);
        const runs = existsSync(ran) ? readFileSync(ran, "utf8").trim().split("\n").length : 0;
        expect(runs, `runs of ${victim.id} (${victim.target})`).toBeLessThanOrEqual(1);
        const { status } = await turnd.request("DELETE", `/v1/sessions/${victim.id}`);
        expect([victim.id, victim.target, status]).toEqual([victim.id, victim.target, seen === "gone" ? 404 : 204]);
      }
      await expectServed(turnd);
      const left = readdirSync(join(turnd.state, "sessions")).filter((name) => name.includes("victim"));
      // A directory with nothing of a session in it names none, and its id is free.
      expect(left.filter((name) => !gone.includes(name))).toEqual([]);
      expect(await turnd.stop()).toBe(0);
    },
    300_000,
  );
});

/** Of the state directory itself; what stood there is the message of a check that is not met. */
const OF_THE_STATE = ["sessions", "tombstones.jsonl", "lock", "reserve"] as const;

describe.skipIf(process.getuid?.() !== 0).each(OF_THE_STATE)("whatever is damaged of the state's %s", (name) => {
  test.each(Object.entries(FAULTS))(
    "%s in its place: turnd starts and answers, and runs no request twice",
    async (_, put) => {
      const turnd = await daemonAfter((state) => {
        // Turns that go on at each start prove nothing here.
        for (const { id, kind } of victims) if (kind !== "ended") remove(join(state, "sessions", id));
        put(join(state, name));
      });
      expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
      const isThere = (await turnd.request("GET", `/v1/turns/${healthy.turnId}`)).status === 200;
      if (name !== "sessions") await expectServed(turnd);
      const ran = ranFile(turnd.workspace, "again");
      const body = { executor: "cli-b", input: `touch ${ran}`, request_id: "request-deleted" };
      const { status } = await turnd.request("POST", "/v1/turns?wait_ms=20000", body);
      // Whatever is left of the record of a deleted request that is gone altogether, is not known.
      const isForgotten = name === "tombstones.jsonl" && (_ === "missing" || _ === "empty" || _ === "truncated");
      if (!isForgotten) expect([404, 507]).toContain(status);
      if (!isForgotten) expect(existsSync(ran)).toBe(false);
      if (name === "sessions" && !isThere) return;
      expect((await turnd.request("DELETE", `/v1/sessions/${HEALTHY}`)).status).toBe(204);
    },
    120_000,
  );
});

function isDirectory(path: string): boolean {
  return lstatSync(path).isDirectory();
}

function remove(path: string): void {
  rmSync(path, { recursive: true });
}

function empty(path: string): void {
  const wasDirectory = isDirectory(path);
  replace(path, () => (wasDirectory ? mkdirSync(path) : writeFileSync(path, "")));
}

function emptyHalf(path: string): void {
  const names = readdirSync(path).toSorted();
  for (const name of names.slice(0, Math.ceil(names.length / 2))) rmSync(join(path, name), { recursive: true });
}

/** Puts something else where a file or directory was. */
function replace(path: string, put: () => void): void {
  rmSync(path, { recursive: true });
  put();
}
