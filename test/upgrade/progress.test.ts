import { execa } from "execa";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { digestOf, openProgress } from "../../scripts/upgrade/progress.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const MODULE = join(import.meta.dirname, "../../scripts/upgrade/progress.ts");
const PROBE = { name: "probe", exitCode: 1, output: "BREAKS" } as const;

/** Finishes one step and is in the middle of the next, whose process outlives it. */
const KILLED = `
  import { spawn } from "node:child_process";
  const [directory, temporary, module] = process.argv.slice(1);
  const { openProgress } = await import(module);
  const progress = await openProgress(directory, "this", temporary);
  progress.end(${JSON.stringify(PROBE)});
  const step = spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"], { stdio: "ignore" });
  progress.begin(step.pid);
  console.log(step.pid);
`;

async function leaveKilled(directory: string, temporary: string): Promise<number> {
  mkdirSync(temporary);
  const args = ["--input-type=module", "--eval", KILLED, "--", directory, temporary, MODULE];
  const run = execa(process.execPath, args, { reject: false });
  for await (const line of run) {
    run.kill("SIGKILL");
    await run;
    return Number(line);
  }
  throw new Error("nothing was printed");
}

function isThere(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

test("after kill -9 the next run ends the step that ran, removes its files and goes on behind what is finished", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const temporary = join(directory, "temporary");
  const pid = await leaveKilled(directory, temporary);
  expect(isThere(pid)).toBe(true);
  const progress = await openProgress(directory, "this", join(directory, "next"));
  expect(progress.steps).toEqual([PROBE]);
  await vi.waitFor(() => expect(isThere(pid)).toBe(false));
  expect(existsSync(temporary)).toBe(false);
  progress.finish();
  const anew = await openProgress(directory, "this", join(directory, "next"));
  expect(anew.steps).toEqual([]);
});

test("what was kept of another version or source is not taken up, and its step is ended all the same", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const pid = await leaveKilled(directory, join(directory, "temporary"));
  expect((await openProgress(directory, "that", join(directory, "next"))).steps).toEqual([]);
  await vi.waitFor(() => expect(isThere(pid)).toBe(false));
});

test("a run that is not over is left alone", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const progress = await openProgress(directory, "this", join(directory, "temporary"));
  await expect(openProgress(directory, "this", directory)).rejects.toThrow(`process ${process.pid} is at it`);
  progress.finish();
});

test("a changed, added or renamed file is another source; installed packages are none", () => {
  const root = temporaryDirectory(onTestFinished);
  mkdirSync(join(root, "src/node_modules"), { recursive: true });
  const digests = ["src/a", "src/b", "src/node_modules/c", "src/a"].map((name, index) => {
    writeFileSync(join(root, name), `${index}`);
    return digestOf(root, ["src"]);
  });
  expect(digests[2]).toBe(digests[1]);
  expect(new Set(digests).size).toBe(3);
});
