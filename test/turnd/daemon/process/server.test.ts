import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { ChannelError } from "../../../../src/turnd/daemon/process/server/channel.ts";
import {
  adoptServer,
  isAlone,
  removeServer,
  startServer,
  type ServerProcess,
} from "../../../../src/turnd/daemon/process/server/server-process.ts";
import { openTail } from "../../../../src/turnd/daemon/process/server/tail.ts";
import { createStarter } from "../../../../src/turnd/daemon/process/starter/starter.ts";
import { ownUid } from "../../../harness/own-uid.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const OPTIONS = { mark: { marker: "none" }, writeLimitMs: 10_000 };
/** Answers each line with itself, and says on stderr that it has begun. */
const ECHO = 'echo begun >&2; while read -r line; do echo "got $line"; [ "$line" = end ] && exit 3; done';

async function start(script: string, hasStarter = false): Promise<ServerProcess> {
  const directory = temporaryDirectory(onTestFinished);
  const starter = hasStarter
    ? await createStarter({
        program: join(REPOSITORY, "sandbox/starter"),
        directory: join(directory, "starter"),
        logger: pino({ level: "silent" }),
      })
    : undefined;
  const server = await startServer(
    {
      keeperPath: join(REPOSITORY, "sandbox/keeper"),
      directory: join(directory, "server"),
      command: ["/bin/bash", "-c", script],
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/tmp",
      runAs: CLI_USER,
      ...(starter === undefined ? {} : { starter }),
    },
    OPTIONS,
  );
  onTestFinished(async () => {
    await server.end(0);
    await starter?.stop();
  });
  return server;
}

const printed = (server: ServerProcess): string => readFileSync(server.stdoutPath, "utf8");
const waitForText = (server: ServerProcess, text: string): Promise<unknown> =>
  waitFor(`"${text}"`, () => printed(server).includes(text));

describe.each([
  ["by turnd itself", false],
  ["by the starter", true],
])("a server that is started %s", (_how, hasStarter) => {
  test("is asked through a named pipe, and answers into a file", async () => {
    const server = await start(ECHO, hasStarter);
    await server.channel.write("one\ntwo\n");
    await waitForText(server, "got two");
    await server.channel.write("end\n");
    expect(await server.exited).toEqual({ code: 3, signal: null });
    expect(readFileSync(server.stderrPath, "utf8")).toBe("begun\n");
    expect(statSync(join(server.directory, "stdin")).mode & 0o777).toBe(0o600);
  });
});

test("a request that is larger than the pipe is written whole", async () => {
  const server = await start("head -c 3000000 | wc -c; sleep 100");
  await server.channel.write("x".repeat(3_000_000));
  await waitForText(server, "3000000");
});

test("a server that reads nothing is waited for a limited time", async () => {
  const server = await start("sleep 100");
  const stalled = await adoptServer(server.directory, { ...OPTIONS, writeLimitMs: 200 });
  await expect(stalled?.channel.write("x".repeat(1_000_000))).rejects.toThrow(ChannelError);
  await stalled?.channel.close();
});

test("it goes on without whoever started it, and whoever comes next goes on with it", async () => {
  const server = await start(ECHO);
  await server.channel.write("first\nhalf a li");
  await waitForText(server, "got first");
  await server.channel.close();
  const adopted = await adoptServer(server.directory, OPTIONS);
  // What was not written to its end ends here.
  await adopted?.channel.write("\nsecond\n");
  await waitForText(server, "got second");
  expect(printed(server)).toBe("got first\ngot half a li\ngot second\n");
  await adopted?.channel.close();
});

test("its end is that of all that it has started", async () => {
  const server = await start("setsid sleep 1000 & sleep 1000 & wait");
  await waitFor("two children", () => server.leftovers().length === 2);
  expect(await isAlone(server)).toBe(false);
  const ended = await server.end(500);
  expect(ended.map(({ command }) => command).toSorted()).toEqual(["bash", "sleep", "sleep"]);
  expect(server.isRunning()).toBe(false);
  expect(server.leftovers()).toEqual([]);
});

test("one that has started nothing is alone", async () => {
  expect(await isAlone(await start(ECHO))).toBe(true);
});

test("what is left of one is ended, and its files are removed", async () => {
  const server = await start("setsid sleep 1000 & sleep 1000");
  await waitFor("its children", () => server.leftovers().length > 0);
  await removeServer(server.directory, OPTIONS);
  expect(server.isRunning()).toBe(false);
  expect(existsSync(server.directory)).toBe(false);
});

// What people decide is not the tools' to decide.
test.skipIf(CLI_USER.isSelf)("the CLIs' user can neither open its pipe nor its files", async () => {
  const server = await start(ECHO);
  const attacks = [
    `echo x > /proc/${server.started.pid}/fd/0`,
    `echo x > ${server.directory}/stdin`,
    `cat ${server.stdoutPath}`,
    `cat /proc/${server.started.pid}/fd/1`,
    `echo x >> /proc/${server.started.pid}/fd/1`,
  ];
  for (const attack of attacks) {
    const options = { reject: false, uid: CLI_USER.uid, gid: CLI_USER.gid };
    const { exitCode, stderr } = await execa("/bin/sh", ["-c", attack], options);
    expect([attack, exitCode === 0, /denied/i.test(stderr)]).toEqual([attack, false, true]);
  }
  await server.channel.write("end\n");
  await server.exited;
  expect(printed(server)).toBe("got end\n");
  expect(ownUid()).not.toBe(CLI_USER.uid);
});

describe("a growing file", () => {
  function follow(isByLine: boolean, from = 0) {
    const path = join(temporaryDirectory(onTestFinished), "file");
    writeFileSync(path, "");
    const taken: string[] = [];
    const tail = openTail({ path, from, isByLine, isHeld: false, take: (bytes) => void taken.push(bytes.toString()) });
    onTestFinished(() => tail.close());
    return { path, tail, taken };
  }

  test("is given by whole lines, each once", async () => {
    const { path, tail, taken } = follow(true);
    appendFileSync(path, "one\ntw");
    await waitFor("a line", () => taken.join("") === "one\n");
    appendFileSync(path, "o\n");
    await waitFor("the next", () => taken.join("") === "one\ntwo\n");
    expect(tail.end()).toBe(8);
  });

  test("has lines of any length", () => {
    const { path, tail, taken } = follow(true);
    const line = `${"x".repeat(3_000_000)}\n`;
    appendFileSync(path, `${line}rest`);
    tail.look();
    expect(taken.join("")).toBe(line);
  });

  test("can be given as it comes", () => {
    const { path, tail, taken } = follow(false);
    appendFileSync(path, "half");
    tail.look();
    expect(taken).toEqual(["half"]);
  });
});
