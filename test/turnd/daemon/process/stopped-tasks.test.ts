import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { listProcesses } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { runTask } from "../../../../src/turnd/daemon/process/run-tool.ts";
import { createStarter } from "../../../../src/turnd/daemon/process/starter/starter.ts";
import {
  CLI_USER,
  REPOSITORY,
  runnableProgram,
  temporaryDirectory,
  userDirectory,
} from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

/** Processes below this one that have the CLIs' user's rights and are not the tool itself. */
function listOwn(tool: number): string[] {
  const parents = new Map(listProcesses().map(({ pid, parentPid }) => [pid, parentPid]));
  const isBelow = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at > 1; at = parents.get(at))
      if (at === process.pid) return true;
    return false;
  };
  return [...parents.keys()]
    .filter((pid) => pid !== tool && isBelow(pid))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        const isUsers = new RegExp(`^Uid:\\t${CLI_USER.uid}\\t`, "m").test(status) && !/^State:\tZ/m.test(status);
        return isUsers ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")}`] : [];
      } catch {
        return []; // It has ended.
      }
    });
}

test.runIf(!CLI_USER.isSelf)(
  "nothing is left of what turnd has done as its user, though a tool stops each of its processes at once",
  { timeout: 120_000 },
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const home = userDirectory(join(directory, "home"));
    const logger = pino({ level: "silent" });
    const starter = await createStarter({
      program: join(REPOSITORY, "sandbox/starter"),
      directory: join(directory, "starter"),
      logger,
    });
    onTestFinished(() => starter.stop());
    const user = [String(CLI_USER.uid), String(CLI_USER.gid)];
    expect(await starter.ask(["usable", ...user, home])).toMatchObject({ code: 0 });

    const program = runnableProgram("test/programs/stop-all", onTestFinished);
    const [file = "", ...args] = asUser(CLI_USER, ["/usr/bin/perl", program, String(process.pid), "100"]);
    const tool = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void tool.kill("SIGKILL"));
    let said = "";
    tool.stdout.on("data", (data: Buffer) => (said += data.toString()));
    await waitFor("the tool", () => said.startsWith("ready\n"));
    const stopped = (): number => said.split("\n").filter((line) => line.startsWith("stopped")).length;

    const limits = { timeoutMs: 300 };
    const tasks = [
      () => starter.ask(["usable", ...user, home], limits),
      () => starter.ask(["home", ...user, home, "D made\n"], limits),
      () => runTask(["usable", home], { runAs: CLI_USER, ...limits }),
      () => runTask(["enterable", home], { runAs: CLI_USER, ...limits }),
      () => runTask(["make", "700", join(home, "new")], { runAs: CLI_USER, ...limits }),
      () => runTask(["home", home], { runAs: CLI_USER, input: "D made\n", ...limits }),
      () => runTask(["measure"], { runAs: CLI_USER, cwd: home, ...limits }),
      () => runTask(["empty"], { runAs: CLI_USER, cwd: home, ...limits }),
      () => runTask(["files", "look", Buffer.from(home).toString("hex"), ""], { runAs: CLI_USER, ...limits }),
    ];
    for (const [index, task] of tasks.entries()) {
      // As often as it takes: a process that ends before it is seen is none that could be left.
      await waitFor(`a stopped process of task ${index}`, async () => {
        const before = stopped();
        await task();
        return stopped() > before;
      });
      await waitFor(`the end of task ${index}`, () => listOwn(tool.pid ?? 0).length === 0);
    }
  },
);
