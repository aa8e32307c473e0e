import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { changeHome } from "../../../../src/turnd/daemon/process/user-files/change-home.ts";
import {
  isKeeperAlive,
  StartHangsError,
  startKept,
  type KeptCommand,
} from "../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { takeStart } from "../../../../src/turnd/daemon/process/keeper/take-start.ts";
import {
  listProcesses,
  readArguments,
  readProcess,
} from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { sweepTree } from "../../../../src/turnd/daemon/process/keeper/tree.ts";
import { waitForExit } from "../../../../src/turnd/daemon/process/keeper/wait-exit.ts";
import { createStarter, type Starter } from "../../../../src/turnd/daemon/process/starter/starter.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const FOREVER = new AbortController().signal;
const PROGRAM = join(REPOSITORY, "sandbox/starter");

async function starterIn(directory: string): Promise<Starter> {
  const logger = pino({ level: "silent" });
  const starter = await createStarter({ program: PROGRAM, directory: join(directory, "starter"), logger });
  onTestFinished(() => starter.stop());
  return starter;
}

function findStarters() {
  return listProcesses().filter(
    ({ pid, parentPid }) => parentPid === process.pid && readArguments(pid)?.startsWith("turnd-starter"),
  );
}

/** The starter among this process's children. */
function pidOf(): number {
  const found = findStarters();
  if (found.length !== 1) throw new Error(`${found.length} starters`);
  return found[0]?.pid ?? 0;
}

function kept(starter: Starter | undefined, command: readonly string[], prompt = ""): KeptCommand {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "prompt.txt"), prompt);
  return {
    keeperPath: join(REPOSITORY, "sandbox/keeper"),
    directory,
    command,
    env: { PATH: "/usr/bin:/bin", NAMED: "a=b\nc" },
    cwd: "/tmp",
    runAs: CLI_USER,
    ...(starter === undefined ? {} : { starter }),
  };
}

async function outputOf(command: KeptCommand): Promise<string> {
  const started = await startKept(command);
  onTestFinished(async () => void (await sweepTree({ started, marker: "none" })));
  expect(await waitForExit(command.directory, started, FOREVER)).toEqual({ code: 7, signal: null });
  return readFileSync(join(command.directory, "stdout.jsonl"), "utf8").replaceAll(`${command.directory}/`, "");
}

test("a command of the starter's has the prompt, rights, descriptors and environment of one that setpriv starts", async () => {
  const starter = await starterIn(temporaryDirectory(onTestFinished));
  const script =
    "cat; id; grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig(Blk|Ign))' /proc/self/status; umask; pwd; env | sort; " +
    // Without a pipe, which would be one of them for a moment.
    "for fd in /proc/$$/fd/*; do readlink $fd; done; cat /proc/self/oom_score_adj; ps -o sid= -p $$ | grep -c $$; exit 7";
  const command = ["/bin/bash", "-c", script];
  const first = await outputOf(kept(starter, command, "hello\n\u0000 world"));
  expect(first).toBe(await outputOf(kept(undefined, command, "hello\n\u0000 world")));
  expect(first).toContain("NoNewPrivs:\t1");
  // The next one has nothing of the first.
  expect(await outputOf(kept(starter, ["/bin/sh", "-c", "cat; exit 7"]))).toBe("");
});

test("a keeper outlives the starter that it came from, and the next one comes from a new starter", async () => {
  const starter = await starterIn(temporaryDirectory(onTestFinished));
  const command = kept(starter, ["/bin/sh", "-c", "read line; exit 7"]);
  const started = await startKept({ ...command, command: ["/bin/sleep", "3600"] });
  onTestFinished(async () => void (await sweepTree({ started, marker: "none" })));
  const first = pidOf();
  process.kill(first, "SIGKILL");
  await waitFor("its end", () => readProcess(first) === undefined);
  expect(await isKeeperAlive(command.directory)).toBe(true);
  expect(readArguments(started.keeperPid)).toMatch(new RegExp(`^turnd-keeper ${command.directory} *`));
  await outputOf(kept(starter, ["/bin/sh", "-c", "exit 7"]));
  expect(pidOf()).not.toBe(first);
  process.kill(started.pid, "SIGTERM");
  expect(await waitForExit(command.directory, started, FOREVER)).toEqual({ code: null, signal: "SIGTERM" });
});

test("a turn is never started twice, and one that cannot be started says why", async () => {
  const starter = await starterIn(temporaryDirectory(onTestFinished));
  const command = kept(starter, ["/bin/sh", "-c", "echo ran; exit 7"]);
  const both = await Promise.all([startKept(command), startKept(command)]);
  expect(both[0]).toEqual(both[1]);
  const { starter: _, ...withoutStarter } = command;
  expect(await startKept(withoutStarter)).toEqual(both[0]);
  await waitForExit(command.directory, both[0], FOREVER);
  expect(readFileSync(join(command.directory, "stdout.jsonl"), "utf8")).toBe("ran\n");
  const nowhere = { ...kept(starter, ["/bin/true"]), cwd: "/nowhere" };
  await expect(startKept(nowhere)).rejects.toThrow("cannot enter /nowhere: No such file or directory");
  await expect(startKept({ ...nowhere, directory: "/nowhere" })).rejects.toThrow("cannot open the turn's files");
});

test("a starter ends with its turnd, however that ends, and what it started goes on", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnDirectory = join(directory, "turn");
  mkdirSync(turnDirectory);
  writeFileSync(join(turnDirectory, "prompt.txt"), "");
  const command = { ...kept(undefined, ["/bin/sleep", "3600"]), directory: turnDirectory };
  const program = join(directory, "turnd.ts");
  const source = join(REPOSITORY, "src/turnd/daemon/process");
  writeFileSync(
    program,
    `import { createStarter } from "${source}/starter/starter.ts";
import { startKept } from "${source}/keeper/keeper.ts";
const starter = await createStarter(${JSON.stringify({ program: PROGRAM, directory: join(directory, "starter") })});
console.log(JSON.stringify(await startKept({ ...${JSON.stringify(command)}, starter })));
setInterval(() => {}, 1000);`,
  );
  const turnd = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void turnd.kill("SIGKILL"));
  const [line] = await once(turnd.stdout, "data");
  const started = JSON.parse(String(line));
  onTestFinished(async () => void (await sweepTree({ started, marker: "none" })));
  const [starter] = listProcesses().filter(({ parentPid }) => parentPid === turnd.pid);
  expect(readArguments(starter?.pid ?? 0)).toMatch(/^turnd-starter/);
  turnd.kill("SIGKILL");
  await waitFor("the starter's end", () => readProcess(starter?.pid ?? 0)?.state !== "S");
  expect(await isKeeperAlive(turnDirectory)).toBe(true);
  await waitFor("the command", () => readProcess(started.pid)?.command === "sleep");
});

test("a home is changed as its user, by processes that no tool of that user can look into", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const starter = await starterIn(directory);
  const home = userDirectory(join(directory, "home"));
  const writer = { runAs: CLI_USER, starter };
  expect(
    await changeHome(writer, home, [
      { do: "make", path: "tmp" },
      { do: "write", path: "a/b", content: "hello" },
      { do: "empty", path: "tmp" },
      { do: "set_aside", path: "a/b" },
      { do: "remove", path: "not-there" },
      { do: "remove", path: "a" },
    ]),
  ).toEqual(["a/b", "a"]);
  expect(existsSync(join(home, "tmp"))).toBe(true);
  if (CLI_USER.isSelf) return;
  const closed = join(directory, "closed");
  mkdirSync(closed, { mode: 0o700 });
  symlinkSync(closed, join(home, "link"));
  expect(await changeHome(writer, home, [{ do: "write", path: "link/x", content: "" }])).toEqual(["link"]);
  expect(readdirSync(closed)).toEqual([]);
  await expect(changeHome(writer, closed, [{ do: "make", path: "x" }])).rejects.toThrow("Permission denied");
});

test("a change of a home that is given up ends with all that it started", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const starter = await starterIn(directory);
  const home = userDirectory(join(directory, "home"));
  const stopping = new AbortController();
  // A large tree: it is still being removed when it is given up.
  const names = Array.from({ length: 1000 }, (_, index) => `many/${index}`);
  const writer = { runAs: CLI_USER, starter };
  await changeHome(
    writer,
    home,
    names.map((name) => ({ do: "make" as const, path: `${name}/full` })),
  );
  const changing = changeHome(
    writer,
    home,
    names.map((path) => ({ do: "remove" as const, path })),
    stopping.signal,
  );
  const own = pidOf();
  await waitFor("its worker", () => listProcesses().some(({ parentPid }) => parentPid === own));
  stopping.abort(new Error("given up"));
  await expect(changing).rejects.toThrow("given up");
  await waitFor("its end", () => listProcesses().every(({ parentPid }) => parentPid !== own));
});

test("where there is no starter, or it cannot work, everything is done without it", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const logger = pino({ level: "silent" });
  const starter = await createStarter({ program: "/nowhere/starter", directory: join(directory, "starter"), logger });
  await outputOf(kept(starter, ["/bin/sh", "-c", "exit 7"]));
  const home = userDirectory(join(directory, "home"));
  await changeHome({ runAs: CLI_USER, starter }, home, [{ do: "make", path: "tmp" }]);
  await starter.stop();
  await outputOf(kept(starter, ["/bin/sh", "-c", "exit 7"]));
});

test.skipIf(CLI_USER.isSelf)("no socket is made in a directory that another user could change", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const place = userDirectory(join(directory, "starter"));
  const starter = await starterIn(directory);
  await outputOf(kept(starter, ["/bin/sh", "-c", "exit 7"]));
  expect([readdirSync(place), findStarters()]).toEqual([[], []]);
});

function helpersOf(starter: number): number[] {
  return listProcesses().flatMap(({ pid, parentPid }) => (parentPid === starter ? [pid] : []));
}

test("one process makes a home ready and becomes the keeper, and one that is not needed any more ends", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const starter = await starterIn(directory);
  const home = userDirectory(join(directory, "home"));
  const [helper, other] = [starter.startHelper(), starter.startHelper()];
  const writer = { runAs: CLI_USER, starter: helper };
  expect(await changeHome(writer, home, [{ do: "write", path: "a", content: "hello" }])).toEqual([]);
  expect(await changeHome(writer, home, [{ do: "remove", path: "a" }])).toEqual(["a"]);
  const own = pidOf();
  await waitFor("both", () => helpersOf(own).length === 2);
  const both = helpersOf(own);
  const command = { ...kept(undefined, ["/bin/sh", "-c", "cat; env; exit 7"], "hello\n"), starter: helper };
  const started = await startKept(command);
  onTestFinished(async () => void (await sweepTree({ started, marker: "none" })));
  expect(both).toContain(started.keeperPid);
  helper.close();
  expect(await waitForExit(command.directory, started, FOREVER)).toEqual({ code: 7, signal: null });
  expect(readFileSync(join(command.directory, "stdout.jsonl"), "utf8")).toContain("hello\nNAMED=a=b\nc\n");
  other.close();
  await waitFor("its end", () => helpersOf(own).length === 0);
});

test.each(["was killed", "has done a large task"])(
  "where a helper %s, another process does the next task",
  async (which) => {
    const directory = temporaryDirectory(onTestFinished);
    const starter = await starterIn(directory);
    const home = userDirectory(join(directory, "home"));
    const helper = starter.startHelper();
    onTestFinished(() => helper.close());
    const content = which === "was killed" ? "small" : "x".repeat(100_000);
    await changeHome({ runAs: CLI_USER, starter: helper }, home, [{ do: "write", path: "a", content }]);
    if (which === "was killed") for (const pid of helpersOf(pidOf())) process.kill(pid, "SIGKILL");
    await waitFor("its end", () => helpersOf(pidOf()).length === 0);
    const command = { ...kept(undefined, ["/bin/sh", "-c", "echo ran; exit 7"]), starter: helper };
    expect(await outputOf(command)).toBe("ran\n");
  },
);

test.each(["in time", "by whoever asked"])(
  "a start that hangs is given up %s, and is not made up for later",
  async (how) => {
    const starter = await starterIn(temporaryDirectory(onTestFinished));
    const helper = starter.startHelper();
    await starter.ask(["usable", "0", "0", "/"]);
    await waitFor("the helper", () => helpersOf(pidOf()).length === 1);
    const [pid = 0] = helpersOf(pidOf());
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => helper.close());
    const asking = new AbortController();
    const command = {
      ...kept(undefined, ["/bin/sh", "-c", "echo ran"]),
      starter: helper,
      signal: asking.signal,
      ...(how === "in time" ? { limitMs: 100 } : {}),
    };
    const started = startKept(command);
    if (how === "in time") await expect(started).rejects.toThrow(StartHangsError);
    else {
      asking.abort(new Error("cancelled"));
      await expect(started).rejects.toThrow("cancelled");
    }
    expect(await takeStart(command.directory)).toBe(true);
    helper.close();
    process.kill(pid, "SIGCONT");
    await waitFor("its end", () => readProcess(pid) === undefined);
    expect(await takeStart(command.directory)).toBe(false);
    expect(existsSync(join(command.directory, "exit.json"))).toBe(false);
    expect(readFileSync(join(command.directory, "started"), "utf8")).toBe("");
  },
);
