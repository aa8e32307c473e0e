import { rmSync } from "node:fs";
import { chmod, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { cliA } from "../src/turnd/daemon/executors/cli-a/adapter.ts";
import { cliB } from "../src/turnd/daemon/executors/cli-b/adapter.ts";
import { provideClis, provideVersion } from "./clis.ts";
import {
  findUpgradable,
  installElsewhere,
  isDefault,
  NpmEnded,
  pinVersion,
  resolveVersion,
  UpgradeError,
  VERSIONS,
} from "./upgrade/candidate.ts";
import { describeDuration, writeReport, type Pin, type Report } from "./upgrade/report.ts";
import { digestOf, openProgress } from "./upgrade/progress.ts";
import { runMatrix, runProbe, runScenes, runTests, type StepResult, type Trial } from "./upgrade/steps.ts";

const ROOT = join(import.meta.dirname, "..");
const EXECUTORS = { "cli-a": cliA, "cli-b": cliB } as const;
/** Sources that a step depends on, besides version and options; the pins change with the version. */
const SOURCE = ["src", "scripts", "lab", "test"];
const isRoot = process.getuid?.() === 0;
/** The user that turns run as where turnd is root. */
const CLI_USER = { uid: 1000, gid: 1000 };
const USAGE = `usage: npm run upgrade-cli -- <cli-a|cli-b|opencode|codex> <version|latest> [options]

  --no-pin              leave the repository as it is: install elsewhere, probe, play the matrix
  --case <name>         play only cases of the matrix that begin with it, and no scenes; may be repeated
  --test <name>         run only test files whose path has it; may be repeated
  --skip <step>         probe, matrix, scenes or tests; may be repeated. Scenes need root: without it they are left out
  --directory <path>    gets recordings and reports; default .turnd/upgrades/<cli>-<version>

Exit code 0: nothing breaks. 1: something does, or cannot be run. 2: wrong arguments.`;

/**
 * Tries a version of a CLI: pins it, probes it, plays every failure of a provider to it, runs the tests of the real CLIs
 * and prints what is left to decide.
 */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      "no-pin": { type: "boolean", default: false },
      case: { type: "string", multiple: true, default: [] },
      skip: { type: "string", multiple: true, default: [] },
      test: { type: "string", multiple: true, default: [] },
      directory: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [word = "", wanted = "", ...more] = positionals;
  const cli = findUpgradable(word);
  const unknown = values.skip.find((step) => !["probe", "matrix", "scenes", "tests"].includes(step));
  if (values.help) return print(USAGE, 0);
  if (cli === undefined || wanted === "" || more.length > 0 || unknown !== undefined) return print(USAGE, 2);

  const version = await resolveVersion(cli, wanted);
  const directory = resolve(values.directory ?? join(ROOT, ".turnd/upgrades", `${cli.executor}-${version}`));
  await mkdir(directory, { recursive: true });
  // The CLIs' user has to reach the binary, which it may not in a person's clone.
  const reachable = await mkdtemp(join(tmpdir(), "turnd-upgrade-"));
  const remove = (): void => rmSync(reachable, { recursive: true, force: true });
  const { signal } = stop;
  try {
    const of = JSON.stringify([cli.executor, version, values, digestOf(ROOT, SOURCE)]);
    const progress = await openProgress(directory, of, reachable);
    await chmod(reachable, 0o755);
    const pin: Pin = (await isDefault(cli, version)) ? "default" : values["no-pin"] ? "none" : "beside";
    const packages = pin === "beside" ? VERSIONS : join(reachable, "packages");
    if (pin === "beside") await pinVersion(cli, version);
    else await installElsewhere(cli, version, packages);
    const owner = isRoot ? CLI_USER : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const where = { directory: reachable, ...owner };
    const binary = await provideVersion(cli.name, version, where, packages);
    const { toolsDirectory: tools } = await provideClis(where);
    const trial: Trial = { cli, version, binary, tools, directory, signal, onStarted: progress.begin };
    const does = (step: StepResult["name"]): boolean => !values.skip.includes(step);
    // A signal that came while npm ran.
    signal.throwIfAborted();
    const planned: readonly [StepResult["name"], boolean, () => Promise<StepResult>][] = [
      ["probe", does("probe"), () => runProbe(trial)],
      ["matrix", does("matrix"), () => runMatrix(trial, values.case)],
      ["scenes", does("scenes") && isRoot && values.case.length === 0, () => runScenes(trial)],
      ["tests", does("tests") && !values["no-pin"], () => runTests(trial, values.test)],
    ];
    const chosen = planned.filter(([, isWanted]) => isWanted);
    const isDone = (name: StepResult["name"]): boolean => progress.steps.some((step) => step.name === name);
    const done = chosen.filter(([name]) => isDone(name)).map(([name]) => name);
    const left = chosen.filter(([name]) => !isDone(name));
    if (done.length > 0) process.stderr.write(`upgrade-cli: goes on after ${done.join(", ")}\n`);
    process.stderr.write(`upgrade-cli: ${describeDuration(left.map(([name]) => name))}\n`);
    const measured = EXECUTORS[cli.executor].measuredVersions;
    // After each step: a run that is killed leaves what it found.
    const keepPage = async (): Promise<Report> => {
      const next = chosen.slice(progress.steps.length).map(([name]) => name);
      const report = writeReport(trial, progress.steps, pin, measured, next);
      await writeFile(join(directory, "report.txt"), report.text);
      return report;
    };
    for (const [, , run] of left) {
      await keepPage();
      progress.end(await run());
    }
    const { text, isBroken } = await keepPage();
    progress.finish();
    process.stdout.write(text);
    return isBroken ? 1 : 0;
  } finally {
    remove();
  }
}

function print(text: string, exitCode: number): number {
  (exitCode === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  return exitCode;
}

/** Signals end the running step, which ends its CLIs. */
const stop = new AbortController();
let stoppedBy: "SIGINT" | "SIGTERM" | undefined;
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    if (stoppedBy === undefined) process.stderr.write("upgrade-cli: stopping …\n");
    stoppedBy ??= name;
    stop.abort();
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof NpmEnded) stoppedBy ??= error.signal;
  if (stoppedBy !== undefined) {
    const text = "upgrade-cli: stopped; the same command goes on with the step that was not finished";
    process.exitCode = print(text, stoppedBy === "SIGINT" ? 130 : 143);
  } else if (error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")) {
    process.exitCode = print(`${error.message}\n\n${USAGE}`, 2);
  } else if (error instanceof UpgradeError || (error instanceof Error && "syscall" in error)) {
    process.exitCode = print(`upgrade-cli: ${error.message}`, 1);
  } else {
    throw error;
  }
}
