import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { openCommandGroups, removeCommandGroups } from "../../../../src/turnd/daemon/process/cgroup/cgroup-open.ts";
import { GroupError, MIB, type CommandGroups } from "../../../../src/turnd/daemon/process/cgroup/cgroup.ts";
import { startKept } from "../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { isRunning, readProcess } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { sweepTree } from "../../../../src/turnd/daemon/process/keeper/tree.ts";
import { waitForExit } from "../../../../src/turnd/daemon/process/keeper/wait-exit.ts";
import { GROUP_PLACES } from "../../../harness/cgroups.ts";
import { CLI_USER, REPOSITORY, runnableProgram, temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const FOREVER = new AbortController().signal;
const HAS_GROUPS = GROUP_PLACES !== undefined;
const LIMITS = { maxProcesses: 40, memoryBytes: 96 * MIB };

function open(stateDirectory = temporaryDirectory(onTestFinished), limits = LIMITS): CommandGroups {
  const { groups, reason } = openCommandGroups({ stateDirectory, limits });
  if (groups === undefined) throw new Error(reason);
  onTestFinished(() => groups.removeEmpty());
  return groups;
}

async function keep(groups: CommandGroups, marker: string, script: string) {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "prompt.txt"), "");
  const group = groups.make(marker);
  const started = await startKept({
    keeperPath: join(REPOSITORY, "sandbox/keeper"),
    directory,
    command: ["/bin/bash", "-c", script],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/tmp",
    runAs: CLI_USER,
    group,
  });
  const tree = { started, marker: "none", group };
  onTestFinished(async () => {
    await sweepTree(tree);
    await groups.remove(marker);
  });
  return { directory, started, group, tree, read: (name: string) => readFileSync(join(directory, name), "utf8") };
}

const groupOf = (pid: number | "self"): string[] =>
  readFileSync(`/proc/${pid}/cgroup`, "utf8")
    .split("\n")
    .filter((line) => /:(pids|memory|):/.test(line));

test.runIf(HAS_GROUPS)(
  "a command and its children are in its group from their first instruction, the keeper is not",
  async () => {
    const groups = open();
    const release = join(temporaryDirectory(onTestFinished), "release");
    await execa("mkfifo", ["-m", "644", release]);
    const script = `cat /proc/self/cgroup; (setsid cat /proc/self/cgroup); read < ${release}`;
    const kept = await keep(groups, "first", script);
    // Of a process that has ended the kernel shows the root's group, so the command lasts until its keeper was looked at.
    expect(groupOf(kept.started.keeperPid)).toEqual(groupOf("self"));
    await writeFile(release, "\n");
    await waitForExit(kept.directory, kept.started, FOREVER);
    const lines = kept.read("stdout.jsonl").split("\n");
    const inGroup = lines.filter((line) => /:(pids|memory):/.test(line));
    expect(inGroup).toHaveLength(4);
    expect(inGroup.every((line) => line.endsWith("/first"))).toBe(true);
  },
);

test.runIf(HAS_GROUPS)(
  "the CLIs' user can neither leave its group, nor change its limits, nor make another",
  async () => {
    const groups = open();
    const { directories } = groups.make("locked");
    const tries = directories.flatMap((own) => [
      `echo $$ > ${dirname(own)}/cgroup.procs`,
      `echo $$ > ${dirname(dirname(own))}/cgroup.procs`,
      `echo $$ > ${dirname(dirname(own))}/tasks`,
      `echo max > ${own}/pids.max`,
      `echo -1 > ${own}/memory.limit_in_bytes`,
      `mkdir ${own}/below`,
      `rmdir ${own}`,
      `mv ${own} ${own}2`,
    ]);
    const script = `${tries.map((line) => `(${line}) 2>&1 && echo DONE`).join("; ")}; unshare --user --map-root-user bash -c '${tries.map((line) => `(${line}) 2>&1 && echo DONE`).join("; ")}'`;
    const { directory, started, read } = await keep(groups, "locked", script);
    await waitForExit(directory, started, FOREVER);
    expect(read("stdout.jsonl").match(/denied|not permitted|No such file/g)?.length).toBeGreaterThanOrEqual(
      tries.length,
    );
    expect(read("stdout.jsonl")).not.toContain("DONE");
  },
);

test.runIf(HAS_GROUPS)(
  "a fork bomb gets no further than its limit, is counted, and is ended with its group",
  async () => {
    const groups = open();
    const { group, tree } = await keep(
      groups,
      "bomb",
      `exec ${runnableProgram("test/programs/exhaust/fork-bomb", onTestFinished)} 600 0.1`,
    );
    await waitFor("the limit", () => groups.readHits("bomb").refused > 0);
    expect(group.members().length).toBeLessThanOrEqual(LIMITS.maxProcesses);
    // What every other process starts is none of its business.
    expect((await execa("/bin/true")).exitCode).toBe(0);
    await sweepTree(tree);
    expect(group.members()).toEqual([]);
    // Closed: what is refused from now on is no sign of the limit. A second attempt of the same turn opens it again.
    const readLimit = (): string => readFileSync(join(group.directories[0] ?? "", "pids.max"), "utf8");
    const { refused } = groups.readHits("bomb");
    group.close();
    expect([readLimit(), groups.readHits("bomb").refused]).toEqual(["0\n", refused]);
    groups.make("bomb");
    expect(readLimit()).toBe(`${LIMITS.maxProcesses}\n`);
    expect(await groups.remove("bomb")).toBe(true);
    expect(group.directories.some((path) => existsSync(path))).toBe(false);
  },
);

test.runIf(HAS_GROUPS)("what takes too much memory is killed alone, and is counted", async () => {
  const groups = open();
  const { directory, started, read } = await keep(groups, "hog", `perl -e '$x = "a" x 300_000_000' ; echo status $?`);
  expect(await waitForExit(directory, started, FOREVER)).toEqual({ code: 0, signal: null });
  expect(read("stdout.jsonl")).toBe("status 137\n");
  expect(groups.readHits("hog").killed).toBe(1);
});

test.runIf(HAS_GROUPS)("a process that lost keeper, parents and environment is found by its group", async () => {
  const groups = open();
  const { started, tree, group } = await keep(groups, "lost", "env -i setsid sleep 1000 & wait");
  const escaped = await waitFor("the escape", () =>
    group.members().find((pid) => readProcess(pid)?.command === "sleep"),
  );
  process.kill(started.keeperPid, "SIGKILL");
  process.kill(started.pid, "SIGKILL");
  await waitFor(
    "both to be gone",
    () => !isRunning(readProcess(started.pid)) && !isRunning(readProcess(started.keeperPid)),
  );
  expect((await sweepTree(tree)).map(({ pid }) => pid)).toEqual([escaped]);
  expect(group.members()).toEqual([]);
});

test.runIf(HAS_GROUPS)("a start removes what is empty, and leaves groups in use alone, limits and all", async () => {
  const state = temporaryDirectory(onTestFinished);
  const earlier = open(state);
  const left = earlier.make("left");
  const { group } = await keep(earlier, "used", "sleep 1000");
  const later = open(state, { maxProcesses: 7, memoryBytes: 0 });
  expect(left.directories.some((path) => existsSync(path))).toBe(false);
  expect(later.find("used").members()).toEqual(group.members());
  expect(group.members().length).toBeGreaterThan(0);
  const limit = (): string =>
    readFileSync(join(group.directories.find((path) => existsSync(join(path, "pids.max"))) ?? "", "pids.max"), "utf8");
  expect(later.make("used").directories).toEqual(group.directories);
  expect(limit()).toBe(`${LIMITS.maxProcesses}\n`);
  expect(await later.remove("used")).toBe(false);
});

test.runIf(HAS_GROUPS)("limits of 0 set none", async () => {
  const groups = open(undefined, { maxProcesses: 0, memoryBytes: 0 });
  for (const directory of groups.make("free").directories) {
    const limit = join(directory, "pids.max");
    if (existsSync(limit)) expect(readFileSync(limit, "utf8")).toBe("max\n");
  }
});

test.runIf(HAS_GROUPS)("a command whose group is gone does not run", async () => {
  const groups = open();
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "prompt.txt"), "");
  const start = startKept({
    keeperPath: join(REPOSITORY, "sandbox/keeper"),
    directory,
    command: ["/bin/touch", join(directory, "ran")],
    env: {},
    cwd: "/",
    runAs: CLI_USER,
    group: groups.find("never-made"),
  });
  await expect(start).rejects.toThrow(GroupError);
  await expect(start).rejects.toThrow(/control group .*never-made.*No such file/);
  expect(existsSync(join(directory, "ran"))).toBe(false);
});

test.runIf(HAS_GROUPS)("a group that is there without limits gets them, and its own stay as they are", () => {
  const groups = open();
  const { directories } = groups.find("stale");
  for (const directory of directories) mkdirSync(directory);
  const [pids = "", memory = ""] = directories;
  const readLimit = (): string => readFileSync(join(pids, "pids.max"), "utf8");
  groups.make("stale");
  expect(readLimit()).toBe(`${LIMITS.maxProcesses}\n`);
  if (existsSync(join(memory, "memory.limit_in_bytes")))
    expect(readFileSync(join(memory, "memory.limit_in_bytes"), "utf8")).toBe(`${LIMITS.memoryBytes}\n`);
  writeFileSync(join(pids, "pids.max"), "3");
  groups.make("stale");
  expect(readLimit()).toBe("3\n");
});

test.runIf(HAS_GROUPS)("a group that another user owns is not used", () => {
  const groups = open();
  const { directories } = groups.find("foreign");
  for (const directory of directories) {
    mkdirSync(directory);
    chownSync(directory, CLI_USER.uid, CLI_USER.gid);
  }
  expect(() => groups.make("foreign")).toThrow(GroupError);
  expect(() => groups.make("foreign")).toThrow("/foreign can be changed by users other than turnd's");
});

test.runIf(HAS_GROUPS)("what holds the groups is made anew when it was removed", () => {
  const groups = open();
  groups.removeEmpty();
  const { directories } = groups.make("again");
  expect(directories.every((directory) => existsSync(directory))).toBe(true);
  expect(readFileSync(join(directories[0] ?? "", "pids.max"), "utf8")).toBe(`${LIMITS.maxProcesses}\n`);
});

test.runIf(HAS_GROUPS)("a group that was busy when its turn ended is removed with a later one", async () => {
  const groups = open();
  const { group, tree } = await keep(groups, "busy", "sleep 1000");
  expect(await groups.remove("busy")).toBe(false);
  await sweepTree(tree);
  expect(group.directories.some((path) => existsSync(path))).toBe(true);
  groups.make("later");
  expect(await groups.remove("later")).toBe(true);
  expect(group.directories.some((path) => existsSync(path))).toBe(false);
});

test.runIf(HAS_GROUPS)("where turns are to have no groups any more, those of an earlier turnd are removed", () => {
  const stateDirectory = temporaryDirectory(onTestFinished);
  const { directories } = open(stateDirectory).make("earlier");
  removeCommandGroups(stateDirectory);
  expect(directories.some((path) => existsSync(dirname(path)))).toBe(false);
});

test.runIf(HAS_GROUPS)("a group is named by turnd alone", () => {
  const groups = open();
  for (const name of ["..", "a/b", "", ".", "a".repeat(65)])
    expect(() => groups.make(name)).toThrow("cannot name a control group");
});
