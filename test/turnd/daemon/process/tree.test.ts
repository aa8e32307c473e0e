import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startKept } from "../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { listProcesses } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { isCliRunning, stopTree, sweepTree, TURN_MARKER } from "../../../../src/turnd/daemon/process/keeper/tree.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

let marks = 0;

/** Starts a command with all seven escapees; each sleeps a number of seconds that only this test uses. */
async function startZoo(script: string) {
  const directory = temporaryDirectory(onTestFinished);
  const program = join(directory, "escapees");
  copyFileSync(join(REPOSITORY, "test/programs/escapees"), program);
  chmodSync(program, 0o755);
  writeFileSync(join(directory, "prompt.txt"), "");
  const mark = String(100_000 + (process.pid % 10_000) * 100 + marks++);
  const started = await startKept({
    keeperPath: join(REPOSITORY, "sandbox/keeper"),
    directory,
    command: ["/bin/bash", "-c", script.replaceAll("ESCAPEES", `${program} ${mark}`)],
    env: { PATH: "/usr/bin:/bin", [TURN_MARKER]: mark },
    cwd: userDirectory(join(directory, "cwd")),
    runAs: CLI_USER,
  });
  const tree = { started, marker: mark };
  onTestFinished(async () => void (await sweepTree(tree)));
  await waitFor("the escaped processes", () =>
    readFileSync(join(directory, "stdout.jsonl"), "utf8").includes("started"),
  );
  return { tree, mark };
}

/** Every process, anywhere, whose command line or environment has the mark. */
function survivors(mark: string): string[] {
  return listProcesses().flatMap(({ pid, state, command }) => {
    if (state === "Z") return [];
    try {
      const seen = readFileSync(`/proc/${pid}/cmdline`, "utf8") + readFileSync(`/proc/${pid}/environ`, "utf8");
      return seen.includes(mark) ? [`${pid} ${command}`] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

test.each([
  ["the CLI still runs and ignores signals", "trap '' INT TERM HUP; ESCAPEES; sleep 1000"],
  ["the CLI has ended and left them behind", "ESCAPEES"],
])("no escaped process survives when %s", async (_, script) => {
  const { tree, mark } = await startZoo(script);
  const before = survivors(mark);
  expect(before.length).toBeGreaterThanOrEqual(7);
  const ended = await stopTree(tree, { signals: ["SIGINT"], graceMs: 100 });
  expect(ended.length).toBeGreaterThanOrEqual(7);
  expect(survivors(mark)).toEqual([]);
});

test("without its keeper, what kept its environment is still found", async () => {
  const { tree, mark } = await startZoo("ESCAPEES; sleep 1000");
  process.kill(tree.started.keeperPid, "SIGKILL");
  await waitFor("the keeper's end", () => !listProcesses().some(({ pid }) => pid === tree.started.keeperPid));
  await sweepTree(tree);
  // Only the two that were started with an empty environment can be left; nothing else names them.
  const left = survivors(mark);
  for (const line of left) {
    expect(readFileSync(`/proc/${line.split(" ")[0]}/environ`, "utf8")).not.toContain(TURN_MARKER);
    process.kill(Number(line.split(" ")[0]), "SIGKILL");
  }
  expect(left.length).toBeLessThanOrEqual(3);
});

test("another tree is not touched", async () => {
  const [one, other] = [await startZoo("ESCAPEES; sleep 1000"), await startZoo("ESCAPEES; sleep 1000")];
  await stopTree(one.tree, { signals: ["SIGINT"], graceMs: 0 });
  expect(survivors(one.mark)).toEqual([]);
  expect(survivors(other.mark).length).toBeGreaterThanOrEqual(7);
  expect(isCliRunning(other.tree.started)).toBe(true);
});

test("a process that has the number of one that has ended is not touched", async () => {
  const other = spawn("/bin/sleep", ["1000"], { stdio: "ignore" });
  onTestFinished(() => void other.kill("SIGKILL"));
  const pid = other.pid ?? 0;
  // It started at another time.
  const started = { keeperPid: pid, keeperStart: 1, pid, pidStart: 1, isSubreaper: true };
  expect(isCliRunning(started)).toBe(false);
  expect(await stopTree({ started, marker: "none" }, { signals: ["SIGINT"], graceMs: 100 })).toEqual([]);
  expect(other.exitCode ?? other.signalCode).toBeNull();
});
