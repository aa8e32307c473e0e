import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { GROUP_PLACES } from "../../../../harness/cgroups.ts";
import { startDaemon, type TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { runnableProgram, temporaryDirectory } from "../../../../harness/temporary.ts";
import { runLine, startShell } from "../../../../harness/terminal.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const HAS_GROUPS = GROUP_PLACES !== undefined;
const ON = { TURND_TURN_CGROUPS: "auto", TURND_TURN_MAX_PROCESSES: "60", TURND_TURN_MEMORY_MB: "128" };
/** With rests: it takes every process, and leaves the machine's time to the tests beside it. */
const forkBomb = (): string => `${runnableProgram("test/programs/exhaust/fork-bomb", onTestFinished)} 600 0.1`;
const EATER = `perl -e '$x = "a" x 400_000_000'`;

/** Directories of a turn's or shell's group, wherever this machine has them. */
function groupsOf(marker: string): string[] {
  return (GROUP_PLACES ?? []).flatMap(({ directory }) =>
    readdirSync(directory)
      .filter((name) => name.startsWith("turnd-"))
      .map((name) => join(directory, name, marker))
      .filter((path) => existsSync(path)),
  );
}

function readCount(marker: string, file: string, field: RegExp): number {
  const path = groupsOf(marker).find((group) => existsSync(join(group, file)));
  return path === undefined ? 0 : Number(field.exec(readFileSync(join(path, file), "utf8"))?.[1] ?? 0);
}

const refusedIn = (marker: string): number => readCount(marker, "pids.events", /^max (\d+)$/m);

async function warningsOf(turnd: TestDaemon, turnId: string): Promise<string[]> {
  const events = await turnd.events(turnId);
  return events.flatMap((event) =>
    event.type === "warning" && event.data.code === "limit_reached" ? [event.data.message] : [],
  );
}

test.runIf(HAS_GROUPS)(
  "the sandbox's description says the limits, and a turn's group is gone when it has ended",
  async () => {
    const turnd = await sharedDaemon(ON);
    const { body } = await turnd.request("GET", "/v1/sandbox");
    expect(body.data.turn_limits).toEqual({ enforced: true, max_processes: 60, memory_mb: 128 });
    const { turn_id, status, output } = await turnd.run({ executor: "cli-b", input: "hello" });
    expect([status, output]).toEqual(["completed", "hello"]);
    expect(groupsOf(turn_id)).toEqual([]);
    expect(await warningsOf(turnd, turn_id)).toEqual([]);
  },
);

test.runIf(HAS_GROUPS)("a fork bomb in one turn leaves other turns, admissions and health alone", async () => {
  const turnd = await sharedDaemon(ON);
  const bomb = await turnd.admit({ executor: "cli-b", input: `shell ${forkBomb()}` });
  await waitFor("the limit", () => refusedIn(bomb.turn_id) > 0);
  const other = await turnd.run({
    executor: "cli-b",
    input: "shell for i in 1 2 3 4 5; do /bin/true || exit 1; done\nhello",
  });
  expect(other).toMatchObject({ status: "completed", output: "hello" });
  expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  expect((await turnd.request("GET", "/v1/ready")).body).toMatchObject({ ready: true });
  const { status, body } = await turnd.request("POST", `/v1/turns/${bomb.turn_id}/cancel`);
  expect([status, body.status]).toEqual([200, "cancelled"]);
  expect(await warningsOf(turnd, bomb.turn_id)).toEqual([
    expect.stringMatching(
      /^The turn came to its limit of 60 processes and threads \(TURND_TURN_MAX_PROCESSES\), and \d+ start/,
    ),
  ]);
  expect(groupsOf(bomb.turn_id)).toEqual([]);
  expect(processesNaming("fork-bomb 600")).toEqual([]);
});

test.runIf(HAS_GROUPS)(
  "a tool that takes too much memory is killed, its turn goes on and says so, and another is unharmed",
  async () => {
    const turnd = await sharedDaemon(ON);
    const other = await turnd.admit({ executor: "cli-b", input: "hang" });
    const turn = await turnd.run({ executor: "cli-b", input: `shell ${EATER}\nstill here` });
    expect(turn).toMatchObject({ status: "completed", output: "still here" });
    expect(await warningsOf(turnd, turn.turn_id)).toEqual([
      "The turn came to its limit of 128 MiB of memory (TURND_TURN_MEMORY_MB), and the system killed 1 process.",
    ]);
    expect((await turnd.request("GET", `/v1/turns/${other.turn_id}`)).body.status).toBe("running");
    expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  },
);

test.runIf(HAS_GROUPS)(
  "a CLI that takes too much memory itself fails its turn with that, in a replay too",
  async () => {
    const turnd = await sharedDaemon(ON);
    const turn = await turnd.run({ executor: "cli-b", input: "eat 400000000" });
    expect(turn.status).toBe("failed");
    expect(turn.failure).toMatchObject({
      code: "resources_exhausted",
      retryable: true,
      evidence: [
        { source: "turnd", text: expect.stringContaining("its limit of 128 MiB of memory (TURND_TURN_MEMORY_MB)") },
      ],
    });
    const recording = await turnd.request("GET", `/v1/turns/${turn.turn_id}/recording`);
    const replay = await turnd.request("POST", "/v1/replays", { recording: recording.body, speed: "max" });
    const again = await waitFor("the replay", async () => {
      const { status, body } = await turnd.request("GET", `/v1/turns/${replay.body.turn_id}/result`);
      return status === 200 && body;
    });
    expect(again.failure).toEqual(turn.failure);
  },
);

test.runIf(HAS_GROUPS)(
  "after kill -9 a turn keeps its group, its limits and its counts; what is left over is removed",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory, ON);
    const bomb = await first.admit({ executor: "cli-b", input: `shell ${forkBomb()}` });
    const done = await first.admit({ executor: "cli-b", input: "sleep 0.5\nhello" });
    const shell = await startShell(first);
    await runLine(first, shell.session_id, "echo up$((1+1))", /up2/);
    await waitFor("the limit", () => refusedIn(bomb.turn_id) > 0);
    const groups = groupsOf(bomb.turn_id);
    const parents = groups.map((path) => join(path, ".."));
    expect(groups.length).toBeGreaterThan(0);
    first.kill("SIGKILL");
    await first.exited;
    await waitFor("the short turn's keeper to end", () => processesNaming(done.turn_id, "anywhere").length === 0);
    expect(parents.map((parent) => listGroups(parent).length)).toEqual(parents.map(() => 3));

    const second = await fakeDaemonIn(directory, { ...ON, TURND_TURN_MAX_PROCESSES: "50" });
    expect(parents.map(listGroups)).toEqual(parents.map(() => [bomb.turn_id]));
    expect(await second.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
    expect((await second.request("GET", `/v1/turns/${done.turn_id}/result`)).body).toMatchObject({
      status: "completed",
    });
    expect((await second.request("GET", `/v1/turns/${bomb.turn_id}`)).body.status).toBe("running");
    await second.request("POST", `/v1/turns/${bomb.turn_id}/cancel`);
    expect(await warningsOf(second, bomb.turn_id)).toHaveLength(1);
    expect(processesNaming("fork-bomb 600")).toEqual([]);
    expect(parents.map(listGroups)).toEqual(parents.map(() => []));
    await second.stop();
    expect(parents.filter((parent) => existsSync(parent))).toEqual([]);
  },
);

function listGroups(parent: string): string[] {
  return readdirSync(parent, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

test.runIf(HAS_GROUPS)("a shell has a group of its own, with the same limits, until it is closed", async () => {
  const turnd = await sharedDaemon(ON);
  const { session_id } = await startShell(turnd);
  const [, marker = ""] = await runLine(
    turnd,
    session_id,
    "grep -E ':pids:|^0:' /proc/self/cgroup; echo over$((1+1))",
    /turnd-[0-9a-f]+\/([0-9a-f-]{36})\s[^]*over2/,
  );
  await turnd.request("POST", `/v1/shell/sessions/${session_id}/input`, { text: `${forkBomb()}\r` });
  await waitFor("the limit", () => refusedIn(marker) > 0);
  expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
  expect((await turnd.request("DELETE", `/v1/shell/sessions/${session_id}`)).status).toBeLessThan(300);
  await waitFor("the group to be removed", () => groupsOf(marker).length === 0);
  expect(processesNaming("fork-bomb 600")).toEqual([]);
});

test("switched off, or where the system allows none, turns run as ever, and the reason is reported", async () => {
  const turnd = await fakeDaemon({ TURND_TURN_CGROUPS: "off" });
  expect((await turnd.request("GET", "/v1/sandbox")).body.data.turn_limits).toEqual({
    enforced: false,
    reason: "TURND_TURN_CGROUPS is off",
  });
  expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
});

const remount = (mode: "ro" | "rw"): string =>
  `for point in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do mount -o remount,bind,${mode} "$point"; done`;

/** A daemon whose view of the groups is its own, as in a container. */
async function startInMounts(prepare: string): Promise<TestDaemon> {
  const directory = temporaryDirectory(onTestFinished);
  const script = `${prepare}; exec "$@"`;
  const through = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"];
  const turnd = await startDaemon({ directory, env: { ...fakeEnv(directory), ...ON }, through });
  onTestFinished(async () => void (await turnd.stop()));
  return turnd;
}

test.runIf(process.getuid?.() === 0)(
  "a read-only file system of groups is reported, and turns run as ever",
  async () => {
    const turnd = await startInMounts(remount("ro"));
    expect((await turnd.request("GET", "/v1/sandbox")).body.data.turn_limits).toEqual({
      enforced: false,
      reason: expect.stringMatching(/^\/sys\/fs\/cgroup\S* (is read-only|lacks the controllers pids and memory)$/),
    });
    expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
  },
);

test.runIf(process.getuid?.() === 0)("without any file system of groups turns run as ever", async () => {
  const turnd = await startInMounts("umount --lazy --recursive /sys/fs/cgroup");
  expect((await turnd.request("GET", "/v1/sandbox")).body.data.turn_limits).toEqual({
    enforced: false,
    reason: expect.stringMatching(/^no file system of control groups is mounted for /),
  });
  expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
});

test.runIf(HAS_GROUPS)("where groups can be made no more, nothing starts without one, and it is said why", async () => {
  const turnd = await startInMounts("true");
  const change = (mode: "ro" | "rw") =>
    execa("nsenter", ["--target", `${turnd.pid}`, "--mount", "sh", "-c", remount(mode)]);
  await change("ro");
  const { status, headers, body } = await turnd.request("POST", "/v1/shell/sessions", {});
  expect([status, body.detail.code]).toEqual([503, "resources_exhausted"]);
  expect(body.detail.message).toMatch(/^The shell cannot have its limits: the control group could not be made: EROFS/);
  expect(headers.get("retry-after")).toMatch(/^\d+$/);
  expect((await turnd.run({ executor: "cli-b", input: "hello" })).failure).toMatchObject({
    code: "executor_unavailable",
    evidence: [{ text: expect.stringContaining("the control group could not be made: EROFS") }],
  });
  await change("rw");
  expect((await turnd.request("POST", "/v1/shell/sessions", {})).status).toBe(201);
  expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
});
