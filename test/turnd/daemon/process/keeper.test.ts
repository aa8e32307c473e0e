import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ResourcesExhaustedError } from "../../../../src/turnd/daemon/process/exhausted.ts";
import {
  adoptStarted,
  isKeeperAlive,
  KeeperError,
  readExit,
  startKept,
} from "../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { startKeptOnPipes } from "../../../../src/turnd/daemon/process/keeper/piped-keeper.ts";
import { sweepTree } from "../../../../src/turnd/daemon/process/keeper/tree.ts";
import { waitForExit } from "../../../../src/turnd/daemon/process/keeper/wait-exit.ts";
import { ownUid } from "../../../harness/own-uid.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const FOREVER = new AbortController().signal;

async function keep(command: readonly string[], prompt = "", env: Record<string, string> = {}) {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "prompt.txt"), prompt);
  const kept = {
    keeperPath: join(REPOSITORY, "sandbox/keeper"),
    directory,
    command,
    env: { PATH: "/usr/bin:/bin", ...env },
    cwd: "/tmp",
    runAs: CLI_USER,
  };
  const started = await startKept(kept);
  onTestFinished(async () => void (await sweepTree({ started, marker: "none" })));
  return { kept, directory, started, read: (name: string) => readFileSync(join(directory, name), "utf8") };
}

test.each([
  ["exit 7", { code: 7, signal: null }],
  ["exit 137", { code: 137, signal: null }],
  ["kill -KILL $$", { code: null, signal: "SIGKILL" }],
  ["kill -INT $$", { code: null, signal: "SIGINT" }],
])("a command that ends by `%s` is written down as such", async (script, exit) => {
  const { directory, started } = await keep(["/bin/bash", "-c", script]);
  expect(await waitForExit(directory, started, FOREVER)).toEqual(exit);
});

test("the prompt comes on stdin, output goes into the files, byte for byte", async () => {
  const { directory, started, read } = await keep(["/bin/sh", "-c", "cat; echo oops >&2"], "hello\n\u0000 world");
  await waitForExit(directory, started, FOREVER);
  expect(read("stdout.jsonl")).toBe("hello\n\u0000 world");
  expect(read("stderr.log")).toBe("oops\n");
});

test("the command runs as the CLIs' user, without groups, capabilities or turnd's environment", async () => {
  const script =
    "id -u; id -G; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status | tr '\\t' ' '; umask; env | grep -c SECRET";
  process.env["A_SECRET"] = "x";
  const { directory, started, read } = await keep(["/bin/bash", "-c", script]);
  delete process.env["A_SECRET"];
  await waitForExit(directory, started, FOREVER);
  const lines = read("stdout.jsonl").trim().split("\n");
  expect(lines.slice(0, 1)).toEqual([String(CLI_USER.uid)]);
  expect(lines).toContain("NoNewPrivs: 1");
  expect(lines.at(-2)).toBe("0077");
  expect(lines.at(-1)).toBe("0");
  if (!CLI_USER.isSelf) {
    expect(lines[1]).toBe("1000");
    expect(lines).toContain("CapEff: 0000000000000000");
    expect(lines).toContain("CapBnd: 0000000000000000");
  }
});

/** A place that anyone may read, below a directory that only root may enter; and a link to it that the CLIs' user made. */
function linkPastRoot(): { directory: string; link: string } {
  const directory = temporaryDirectory(onTestFinished);
  const inner = join(directory, "roots/inner");
  mkdirSync(inner, { recursive: true });
  writeFileSync(join(inner, "secret"), "root's own");
  chmodSync(join(directory, "roots"), 0o700);
  const link = join(userDirectory(join(directory, "users")), "workspace");
  symlinkSync(inner, link);
  return { directory, link };
}

test.runIf(!CLI_USER.isSelf)("no link brings a command to where its user could not go", async () => {
  const { directory, link } = linkPastRoot();
  writeFileSync(join(directory, "prompt.txt"), "");
  const env = { PATH: "/usr/bin:/bin" };
  const kept = { keeperPath: join(REPOSITORY, "sandbox/keeper"), directory, env, cwd: link, runAs: CLI_USER };
  const command = ["/bin/cat", "secret"];
  await expect(startKept({ ...kept, command })).rejects.toThrow(`cannot enter ${link}: Permission denied`);
  expect(existsSync(join(directory, "started"))).toBe(false);
  await expect(startKeptOnPipes({ ...kept, command: asUser(CLI_USER, command) })).rejects.toThrow(KeeperError);
});

test("a command whose working directory has gone is not started", async () => {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "prompt.txt"), "");
  const cwd = join(directory, "gone");
  const kept = { keeperPath: join(REPOSITORY, "sandbox/keeper"), directory, env: {}, cwd, runAs: CLI_USER };
  const starting = startKept({ ...kept, command: ["/bin/true"] });
  await expect(starting).rejects.toThrow(`cannot enter ${cwd}: No such file or directory`);
});

test("SIGINT and SIGTERM have their default effect in the command", async () => {
  const { directory, started, read } = await keep(["/bin/grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"]);
  await waitForExit(directory, started, FOREVER);
  expect(read("stdout.jsonl")).toBe("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
});

test("the keeper holds its lock as long as anything of its command lives, and ends by itself", async () => {
  const script = "setsid sleep 300 & until [ $(cat /proc/$!/comm) = sleep ]; do :; done";
  const { directory, started } = await keep(["/bin/bash", "-c", script]);
  expect(await waitForExit(directory, started, FOREVER)).toEqual({ code: 0, signal: null });
  expect(await isKeeperAlive(directory)).toBe(true);
  expect((await sweepTree({ started, marker: "none" })).map((entry) => entry.command)).toEqual(["sleep"]);
  expect(await isKeeperAlive(directory)).toBe(false);
});

test("a keeper whose turn is removed under it ends with its command", async () => {
  const { directory, started } = await keep(["/bin/sleep", "300"]);
  rmSync(directory, { recursive: true });
  process.kill(started.pid, "SIGKILL");
  await waitFor("the keeper to end", () => !existsSync(`/proc/${started.keeperPid}`));
});

/** A keeper whose command has ended, and which cannot write down how. */
async function keepWithoutExit() {
  const kept = await keep(["/bin/sleep", "300"]);
  const obstacle = join(kept.directory, "exit.json");
  mkdirSync(obstacle);
  process.kill(kept.started.pid, "SIGTERM");
  const title = (): string => readFileSync(`/proc/${kept.started.keeperPid}/cmdline`, "utf8");
  await waitFor("the keeper to say so", () => title().includes(`${kept.directory}: cannot write exit.json: Is a dir`));
  return { ...kept, obstacle };
}

test("a command that is ended at once, even before it was let go, is written down as such", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { directory, started } = await keep(["/bin/sleep", "300"]);
    process.kill(started.pid, "SIGKILL");
    expect(await waitForExit(directory, started, FOREVER)).toEqual({ code: null, signal: "SIGKILL" });
  }
});

test("a keeper that cannot write the exit reports it, and writes it once it can", async () => {
  const { directory, started, obstacle } = await keepWithoutExit();
  expect(await isKeeperAlive(directory)).toBe(true);
  rmdirSync(obstacle);
  expect(await waitForExit(directory, started, FOREVER)).toEqual({ code: null, signal: "SIGTERM" });
});

test("a keeper that cannot write down the exit is waited for no longer than that is of use", async () => {
  const { directory, started } = await keepWithoutExit();
  expect(await waitForExit(directory, started, FOREVER)).toBeNull();
  expect(await isKeeperAlive(directory)).toBe(true);
  expect(await sweepTree({ started, marker: "none" })).toEqual([]);
  expect(await isKeeperAlive(directory)).toBe(false);
});

test("a turn is never started twice", async () => {
  const { kept, directory, started, read } = await keep(["/bin/sh", "-c", "echo ran"]);
  await waitForExit(directory, started, FOREVER);
  expect(await startKept(kept)).toEqual(started);
  await waitFor("both keepers to end", () => processesNaming(directory).length === 0);
  expect(read("stdout.jsonl")).toBe("ran\n");
});

test("a start whose keeper ended before it released its command is none", async () => {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "started"), "");
  expect(await adoptStarted(directory)).toBeUndefined();
});

test("a command that is not there ends with 127 and a word on stderr", async () => {
  const { directory, started, read } = await keep(["/nonexistent/cli"]);
  expect(await waitForExit(directory, started, FOREVER)).toEqual({ code: 127, signal: null });
  expect(read("stderr.log")).toContain("/nonexistent/cli");
});

test("an exit that was not written is null", async () => {
  const { directory, started } = await keep(["/bin/sleep", "300"]);
  process.kill(started.keeperPid, "SIGKILL");
  process.kill(started.pid, "SIGKILL");
  expect(await waitForExit(directory, started, FOREVER)).toBeNull();
  expect(await readExit(directory)).toBeUndefined();
});

test("where memory runs out, the kernel kills the command before its keeper", async () => {
  const scoreOf = (pid: number | "self"): number => Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));
  const { started } = await keep(["/bin/sh", "-c", "sleep 1000 & wait"]);
  expect(scoreOf(started.keeperPid)).toBe(scoreOf("self"));
  // Written before the command is let go.
  await waitFor("the score", () => scoreOf(started.pid) === Math.min(1000, scoreOf("self") + 500));
  const children = `/proc/${started.pid}/task/${started.pid}/children`;
  const child = await waitFor("its child", () => readFileSync(children, "utf8").trim() || undefined);
  expect(scoreOf(Number(child))).toBe(scoreOf(started.pid));
});

test.runIf(process.getuid?.() === 0)(
  "a keeper that cannot fork says that no process is left, and starts nothing",
  async () => {
    const uid = ownUid();
    const other = { uid, gid: uid, isSelf: true };
    const directory = temporaryDirectory(onTestFinished);
    writeFileSync(join(directory, "prompt.txt"), "");
    chownSync(directory, other.uid, other.gid);
    // A keeper under a limit that leaves room for itself alone; root's processes are not limited.
    const limited = join(directory, "limited");
    // A copy: the repository may lie where that user cannot go.
    const keeper = join(directory, "keeper");
    copyFileSync(join(REPOSITORY, "sandbox/keeper"), keeper);
    writeFileSync(
      limited,
      `exec "/usr/bin/prlimit", "--nproc=1", "/usr/bin/setpriv", "--reuid=${uid}", "--regid=${uid}", "--clear-groups", "perl", "${keeper}", @ARGV;`,
    );
    const kept = { keeperPath: limited, directory, command: ["/bin/true"], env: {}, cwd: "/", runAs: other };
    await expect(startKept(kept)).rejects.toThrow(ResourcesExhaustedError);
    expect(existsSync(join(directory, "exit.json"))).toBe(false);
  },
);
