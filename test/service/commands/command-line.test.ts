import { execa } from "execa";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../../harness/temporary.ts";

/** Runs the service's command line with an environment in which it can start nothing. */
const run = (line: string) =>
  execa(process.execPath, [join(REPOSITORY, "src/service/main.ts"), ...line.split(" ")], {
    extendEnv: false,
    env: { PATH: "/usr/bin:/bin", SERVICE_PORT: "none" },
    reject: false,
  });

test.each(["--help", "help", "help migrate"])("`svc-service %s` prints help and runs nothing", async (line) => {
  const { exitCode, stdout, stderr } = await run(line);
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^Usage: svc-service/);
});

test("the version is printed", async () => {
  expect(await run("--version")).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
});

test.each([
  ["bogus", /bogus/],
  ["serve now", /arguments/],
  ["migrate --force", /--force/],
])("`svc-service %s` is refused with 2 and a reason", async (line, why) => {
  const { exitCode, stderr } = await run(line);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(why);
});

test("a fault is one line that names it, and ends with 1", async () => {
  const { exitCode, stderr } = await run("serve");
  expect(exitCode).toBe(1);
  expect(stderr).toContain("SERVICE_PORT");
});
