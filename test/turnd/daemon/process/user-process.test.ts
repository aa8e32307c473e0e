import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readProcess } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { runTask, runTool } from "../../../../src/turnd/daemon/process/run-tool.ts";
import { startAsUser } from "../../../../src/turnd/daemon/process/user-process.ts";
import { startFileWorker } from "../../../../src/turnd/daemon/process/user-files/file-worker.ts";
import { gitDirectoryIn, makeGitDirectory } from "../../../../src/turnd/daemon/turns/store/git-directory.ts";
import { processesNaming } from "../../../harness/processes.ts";
import {
  CLI_USER,
  REPOSITORY,
  runnableProgram,
  temporaryDirectory,
  userDirectory,
  userFile,
} from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const limits = { runAs: CLI_USER, timeoutMs: 60_000 };
let marks = 0;

/** A number of seconds that only one test sleeps. */
function newMark(): string {
  const mark = String(5_000_000 + (process.pid % 10_000) * 100 + marks++);
  onTestFinished(() => processesNaming(mark).forEach((pid) => process.kill(pid, "SIGKILL")));
  return mark;
}

/** Ways to leave a process behind: in a session of its own, without a parent, and one that starts itself again and again. */
const ESCAPES: readonly (readonly [string, (mark: string) => string])[] = [
  ["in a session of its own", (mark) => `setsid sleep ${mark} & sleep 0.1`],
  ["without a parent", (mark) => `(setsid sh -c "sleep ${mark} & sleep ${mark}" &) ; sleep 0.1`],
  [
    "that starts itself again",
    (mark) => `again() { (: ${mark}; sleep 0.01; again) & }; setsid bash -c "$(declare -f again); again"; sleep 0.1`,
  ],
];

test.each(ESCAPES)("a process %s ends with the task that started it", async (_, script) => {
  const mark = newMark();
  const { code } = await runTool(["/bin/bash", "-c", `${script(mark)}; exit 7`], limits);
  expect(code).toBe(7);
  expect(processesNaming(mark)).toEqual([]);
});

test.each(ESCAPES)("a process %s ends with a turnd that is killed", async (_, script) => {
  const mark = newMark();
  const directory = temporaryDirectory(onTestFinished);
  const program = join(directory, "turnd.ts");
  const command = ["run", "/bin/bash", "-c", `${script(mark)}; exec sleep ${mark}`];
  writeFileSync(
    program,
    `import { startAsUser } from "${join(REPOSITORY, "src/turnd/daemon/process/user-process.ts")}";
startAsUser(${JSON.stringify(command)}, { runAs: ${JSON.stringify(CLI_USER)} });
setInterval(() => {}, 1000);`,
  );
  const turnd = spawn(process.execPath, [program], { stdio: ["ignore", "ignore", "inherit"] });
  onTestFinished(() => void turnd.kill("SIGKILL"));
  await waitFor("its sleep", () =>
    processesNaming(mark).some((pid) => readProcess(pid)?.command === "sleep" && pid !== 0),
  );
  turnd.kill("SIGKILL");
  await once(turnd, "exit");
  await waitFor("the end of all of it", () => processesNaming(mark).length === 0);
});

test("a task that was stopped ends when it is ended", async () => {
  const mark = newMark();
  const running = startAsUser(["run", "/bin/sleep", mark], { runAs: CLI_USER });
  const sleeping = (): number[] => processesNaming(mark).filter((pid) => readProcess(pid)?.command === "sleep");
  await waitFor("the sleep", () => sleeping().length > 0);
  for (const pid of sleeping()) process.kill(pid, "SIGSTOP");
  running.end();
  expect(await running.ended).toBe(null);
  expect(processesNaming(mark)).toEqual([]);
});

test("a signal of its own ends a task without a code, and its output is cut at its limit", async () => {
  expect(await runTool(["/bin/sh", "-c", "echo said; kill -TERM $$"], limits)).toEqual({
    code: null,
    stdout: "said",
    stderr: "",
  });
  const { code, stdout } = await runTool(["/bin/sh", "-c", "head -c 1000000 /dev/zero"], limits);
  expect([code, stdout.length]).toEqual([0, 65_536]);
});

test.runIf(!CLI_USER.isSelf)(
  "no tool can trace, read or look into what turnd does as its user; a program that is run as it is can be traced",
  { timeout: 120_000 },
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const workspace = userDirectory(join(directory, "workspace"));
    const home = userDirectory(join(directory, "home"));
    const state = join(directory, "state");
    mkdirSync(state, { mode: 0o711 });
    await makeGitDirectory(gitDirectoryIn(state));
    for (let number = 0; number < 300; number += 1) {
      writeFileSync(join(workspace, `file${number}`), String(number));
      userFile(join(workspace, `file${number}`));
    }
    await runTool(["/usr/bin/git", "init", "-q", workspace], { ...limits, env: { HOME: home } });
    const [file = "", ...args] = asUser(CLI_USER, [
      "/usr/bin/perl",
      runnableProgram("test/programs/trace-all", onTestFinished),
      String(process.pid),
      "100",
    ]);
    const tool = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void tool.kill("SIGKILL"));
    let seen = "";
    tool.stdout.on("data", (data: Buffer) => (seen += data.toString()));
    await waitFor("the tool", () => seen.startsWith("ready\n"));
    const control = startAsUser(["run", "/bin/sleep", "3600"], { runAs: CLI_USER });
    await waitFor("what it can trace", () => seen.includes("trace /bin/sleep 3600"));
    control.end();
    await control.ended;
    const inHex = Buffer.from(workspace).toString("hex");
    for (let round = 0; round < 5; round += 1) {
      const changes = await runTask(
        ["changes", "snapshot", gitDirectoryIn(state), userDirectory(join(home, `changes${round}`)), inHex],
        limits,
      );
      expect(changes.stdout).toMatch(/^tree /);
      expect((await runTask(["usable", workspace], limits)).code).toBe(0);
      expect((await runTask(["make", "700", join(home, `made${round}/below`)], limits)).code).toBe(0);
      expect((await runTask(["home", home], { ...limits, input: "F 5 written\nhelloR written\n" })).stdout).toBe(
        "written",
      );
      expect((await runTask(["measure"], { ...limits, cwd: workspace })).stdout).toMatch(/^\d+$/);
      const worker = await startFileWorker({
        runAs: CLI_USER,
        task: "look",
        workspace,
        path: Buffer.of(),
        stallMs: 60_000,
      });
      expect(await worker.readLine()).toMatch(/^directory /);
      await worker.end();
    }
    // git waits for whoever writes into this pipe: there is all the time in the world to take it over.
    execFileSync("/usr/bin/mkfifo", ["-m", "666", join(workspace, ".gitignore")]);
    const task = ["changes", "snapshot", gitDirectoryIn(state), userDirectory(join(home, "held")), inHex];
    const held = startAsUser(task, { runAs: CLI_USER });
    // By their arguments: the name of a program that has no path is a number, or that of its file in memory.
    const gits = (): number[] => processesNaming(`core.excludesFile=${join(home, "held")}`);
    await waitFor("git", () => gits().some((pid) => programOf(pid)?.startsWith("/memfd:git") === true));
    const later = startAsUser(["run", "/bin/sleep", "3601"], { runAs: CLI_USER });
    await waitFor("a look at all", () => seen.includes("trace /bin/sleep 3601"));
    for (const process of [held, later]) process.end();
    await Promise.all([held.ended, later.ended]);
    expect((await runTask(["empty"], { ...limits, cwd: workspace })).code).toBe(0);
    tool.kill("SIGKILL");
    const own = seen.split("\n").filter((line) => line !== "ready" && line !== "" && !/sleep 360[01]$/.test(line));
    expect(own).toEqual([]);
  },
);

test.runIf(!CLI_USER.isSelf)(
  "a task asks for no more memory than its limit, and is ended before turnd is",
  async () => {
    const scoreOf = async (): Promise<number> =>
      Number((await runTool(["/bin/cat", "/proc/self/oom_score_adj"], limits)).stdout);
    expect(await scoreOf()).toBe(Math.min(1_000, Number(readFileSync("/proc/self/oom_score_adj", "utf8")) + 500));
    const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
    const worker = startAsUser(["files", "look", Buffer.from(home).toString("hex"), ""], { runAs: CLI_USER });
    const lines = worker.stdout.iterator({ destroyOnReturn: false });
    await lines.next();
    const hexadecimal = Buffer.from(home).toString("hex");
    const found = processesNaming(hexadecimal).map((pid) => readFileSync(`/proc/${pid}/limits`, "utf8"));
    expect(found.filter((text) => /^Max data size +1073741824 /m.test(text))).toHaveLength(1);
    worker.stdin.end();
    await worker.ended;
  },
);

test.each(["link", "pipe", "whole"])(
  "git of a diff runs nothing of a submodule, though a tool has put an index in its place: a %s",
  async (kind) => {
    const directory = temporaryDirectory(onTestFinished);
    const workspace = userDirectory(join(directory, "workspace"));
    const state = join(directory, "state");
    mkdirSync(state, { mode: 0o711 });
    await makeGitDirectory(gitDirectoryIn(state));
    const script = `set -e; export HOME=${directory}; cd ${workspace}
git() { command git -c user.name=a -c user.email=a@a -c init.defaultBranch=main "$@"; }
printf '#!/bin/sh\\ntouch ${workspace}/ran\\ncat\\n' > evil; chmod +x evil; git init -q .; git add .; git commit -qm a
git init -q sub; cd sub; echo x > x; echo "x filter=evil" > .gitattributes; git add .; git commit -qm b
git config filter.evil.clean ${workspace}/evil; git config core.fsmonitor ${workspace}/evil; cd ..
cp .git/index evil-index
GIT_INDEX_FILE=${workspace}/evil-index git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub
echo z > sub/x; rm -f ran; mkdir -p store/objects
case ${kind} in link) ln -s ${workspace}/evil-index store/index;; pipe) mkfifo store/index;; whole) cp evil-index store/index;; esac`;
    const made = await runTool(["/bin/bash", "-c", script], { ...limits, env: { PATH: "/usr/bin:/bin" } });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const inHex = Buffer.from(workspace).toString("hex");
    const task = ["changes", "snapshot", gitDirectoryIn(state), join(workspace, "store"), inHex];
    const { stdout } = await runTask(task, { ...limits, timeoutMs: kind === "pipe" ? 2_000 : 60_000 });
    if (kind === "pipe") expect(stdout).not.toMatch(/^tree/);
    else expect(stdout).toMatch(/^tree /);
    expect(existsSync(join(workspace, "ran"))).toBe(false);
  },
);

/** What a process runs; undefined where it has ended meanwhile. */
function programOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
