import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { processesNaming } from "../harness/processes.ts";
import { binaryOf, LIGHT_CLI_A } from "../harness/real-daemon.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

test("a demo that is ended in its second half exits with 1 and leaves nothing", { timeout: 600_000 }, async () => {
  const demo = execa(process.execPath, [join(REPOSITORY, "scripts/demo.ts")], {
    // What is proved is how it ends: any CLI will do, and test/e2e/readme.test.ts runs it with the pinned ones.
    env: { CLI_A_BIN: binaryOf(LIGHT_CLI_A.version) },
    reject: false,
    stdin: "ignore",
    all: true,
    forceKillAfterDelay: false,
  });
  const ended = Promise.resolve(demo);
  onTestFinished(async () => {
    demo.kill("SIGKILL");
    await ended;
  });
  const lines: string[] = [];
  createInterface({ input: demo.all }).on("line", (line) => lines.push(line));
  const isInSecondHalf = (): boolean => lines.some((line) => line.includes("submitted twice with one request_id"));
  await Promise.race([waitFor("the second half", isInSecondHalf, 400_000), ended]);
  expect(isInSecondHalf(), lines.join("\n")).toBe(true);
  const [, base = "none"] = /own turnd in (\S+)\/service/.exec(lines.join("\n")) ?? [];
  expect(existsSync(join(base, "service"))).toBe(true);
  demo.kill("SIGTERM");
  expect((await ended).exitCode, lines.join("\n")).toBe(1);
  expect(existsSync(base)).toBe(false);
  await waitFor("no process is left", () => processesNaming(base, "anywhere").length === 0);
});
