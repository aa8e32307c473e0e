import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { CLI_VERSIONS } from "../harness/cli-versions.ts";
import { processesNaming } from "../harness/processes.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const PINS = join(REPOSITORY, "sandbox/versions/package.json");

/** Where the recorder has its scenes while they run. */
const places = (): string[] =>
  readdirSync("/var/tmp").flatMap((name) => (name.startsWith("turnd-scene-") ? [join("/var/tmp", name)] : []));

function hasBegun(place: string): boolean {
  const path = join(place, "stdout");
  return existsSync(path) && readFileSync(path, "utf8").includes("thread.started");
}

function upgrade(...args: string[]) {
  return execa(process.execPath, ["scripts/upgrade-cli.ts", ...args], { cwd: REPOSITORY, reject: false });
}

test("tries a version of the registry beside the repository, which stays as it is", { timeout: 300_000 }, async () => {
  const directory = temporaryDirectory(onTestFinished);
  const before = readFileSync(PINS, "utf8");
  const version = CLI_VERSIONS.codex.image;
  const args = ["codex", version, "--no-pin", "--skip", "probe", "--case", "openai-bad-key", "--directory", directory];
  const { exitCode, stdout, stderr } = await upgrade(...args);
  expect(exitCode, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toContain(`matrix: nothing breaks (${directory}/matrix.txt)`);
  expect(stdout).toContain("- nothing to pin: the image and `npm start` take it by default");
  expect(existsSync(join(directory, "matrix/cli-b", version, "openai-bad-key/turn.json"))).toBe(true);
  expect(readFileSync(join(directory, "report.txt"), "utf8")).toBe(`${stdout}\n`);
  expect(readFileSync(PINS, "utf8")).toBe(before);
});

test(
  "a signal ends the CLI that is recorded too, and the next run begins with that recording again",
  { timeout: 600_000 },
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const version = CLI_VERSIONS.codex.image;
    // Its provider never answers, and the CLI has no time limit of its own.
    const recording = join(directory, "matrix/cli-b", version, "no-answer");
    const args = ["codex", version, "--no-pin", "--skip", "probe", "--case", "no-answer", "--directory", directory];
    for (const [signal, exitCode] of [
      ["SIGTERM", 143],
      ["SIGINT", 130],
    ] as const) {
      const before = new Set(places());
      const running = upgrade(...args);
      onTestFinished(() => void running.kill("SIGKILL"));
      const place = await waitFor(
        "the CLI to be asked",
        () => places().find((path) => !before.has(path) && hasBegun(path)),
        240_000,
      );
      running.kill(signal);
      const ended = await running;
      expect(ended).toMatchObject({
        exitCode,
        stderr: expect.stringContaining("the same command goes on with the step that was not finished"),
      });
      for (const path of [directory, place]) expect(processesNaming(`${path}/`, "anywhere")).toEqual([]);
      expect([place, join(recording, "turn.json")].filter((path) => existsSync(path))).toEqual([]);
    }
  },
);

test("wrong arguments end with 2, a version that is not there with 1", { timeout: 60_000 }, async () => {
  const wrong = [
    [],
    ["cli-c", "1.0.0"],
    ["codex"],
    ["codex", "latest", "--skip", "nothing"],
    ["codex", "1", "--bogus"],
  ];
  for (const args of wrong) {
    expect(await upgrade(...args)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("usage:") });
  }
  const missing = await upgrade("codex", "0.0.0-never", "--no-pin");
  const reason = "the registry has no @openai/codex@0.0.0-never";
  expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(reason) });
});
