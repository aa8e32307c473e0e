import { spawn } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readProcess } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { startDaemon, type TestDaemon } from "../../../harness/daemon.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { CLI_USER, runnableProgram, temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

async function start(directory: string): Promise<TestDaemon> {
  const daemon = await startDaemon({ directory, env: { ...fakeEnv(directory), TURND_TURN_DIFF: "on" } });
  onTestFinished(async () => void (await daemon.stop()));
  return daemon;
}

/** Starts a program of the tests as a tool would be. @returns what it has said so far */
async function attack(program: string, args: readonly string[]): Promise<{ said: () => string; end: () => void }> {
  const command = ["/usr/bin/perl", runnableProgram(`test/programs/${program}`, onTestFinished), ...args];
  const [file = "", ...words] = asUser(CLI_USER, command);
  const tool = spawn(file, words, { stdio: ["ignore", "pipe", "ignore"] });
  const end = (): void => void tool.kill("SIGKILL");
  onTestFinished(end);
  let said = "";
  tool.stdout.on("data", (data: Buffer) => (said += data.toString()));
  await waitFor(program, () => said.startsWith("ready\n"));
  return { said: () => said, end };
}

test.runIf(!CLI_USER.isSelf)(
  "what a tool can trace of a turnd that works is its CLIs alone",
  { timeout: 120_000 },
  async () => {
    const turnd = await start(temporaryDirectory(onTestFinished));
    const root = processesNaming(turnd.state, "anywhere").find((pid) => readProcess(pid)?.parentPid === process.pid);
    const { said, end } = await attack("trace-all", [String(root), "100"]);
    for (let round = 0; round < 5; round += 1) {
      const turn = await turnd.run({ executor: "cli-b", input: `shell echo ${round} > new\nsleep 0.3` });
      const files = `/v1/sessions/${turn.session_id}/files`;
      expect((await turnd.request("GET", `${files}/`)).status).toBe(200);
      expect((await turnd.request("DELETE", `/v1/sessions/${turn.session_id}`)).status).toBeLessThan(300);
    }
    end();
    const traced = said()
      .split("\n")
      .filter((line) => line.startsWith("trace "));
    expect(traced.filter((line) => line.includes("fake-cli-b exec"))).not.toEqual([]);
    expect(traced.filter((line) => !/fake-cli-|\/bin\/bash -c echo/.test(line))).toEqual([]);
  },
);

test.runIf(!CLI_USER.isSelf)(
  "while a tool swaps everything in a session's home, turnd follows no link with rights of its own, and every turn ends",
  { timeout: 180_000 },
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const turnd = await start(directory);
    const roots = join(directory, "roots");
    mkdirSync(roots);
    writeFileSync(join(roots, "file"), "stays", { mode: 0o600 });
    chmodSync(roots, 0o700);
    const look = (): unknown => [
      readdirSync(roots),
      readFileSync(join(roots, "file"), "utf8"),
      ...[roots, join(roots, "file")].map((path) => {
        const { ino, mode, uid, mtimeMs, ctimeMs } = lstatSync(path);
        return { ino, mode, uid, mtimeMs, ctimeMs };
      }),
    ];
    const before = look();
    const { session_id } = await turnd.run({ executor: "cli-b", input: "shell echo 1 > one" });
    const home = join(turnd.state, "sessions", session_id, "home");
    const swapping = await attack("swap-home", [home, roots, join(roots, "file")]);
    const ends: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const turn = await turnd.run({ session_id, input: `shell echo ${round} > one` });
      ends.push(turn.failure?.code ?? turn.status);
    }
    expect(ends).toHaveLength(6);
    expect(ends.filter((end) => end === "running" || end === "queued")).toEqual([]);
    swapping.end();
    expect(look()).toEqual(before);
    expect((await turnd.request("DELETE", `/v1/sessions/${session_id}`)).status).toBeLessThan(300);
    await waitFor("its removal", () => readdirSync(join(turnd.state, "sessions")).length === 0);
    expect(look()).toEqual(before);
  },
);
