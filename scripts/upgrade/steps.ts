import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { Upgradable } from "./candidate.ts";

const ROOT = join(import.meta.dirname, "../..");
/** A step that is ended ends its CLIs, and unmounts and removes what it made. */
const forceKillAfterDelay = 30_000;

/** The result of a step: its output, and whether it found anything that breaks. */
export interface StepResult {
  readonly name: "probe" | "matrix" | "scenes" | "tests";
  readonly exitCode: number;
  readonly output: string;
}

/** A version that is tried. */
export interface Trial {
  readonly cli: Upgradable;
  readonly version: string;
  /** Its native binary; the CLIs' user can run it. */
  readonly binary: string;
  /** Holds `rg`, which CLI A looks up on PATH. */
  readonly tools: string;
  /** The directory for recordings. */
  readonly directory: string;
  /** Ends the step that runs. */
  readonly signal: AbortSignal;
  /** Called with the process of each step. */
  readonly onStarted: (pid: number) => void;
}

/** Plays the probe's scenarios; their recordings are left in `probe/`. */
export async function runProbe(trial: Trial): Promise<StepResult> {
  const { cli, binary, tools, directory } = trial;
  const kept = join(directory, "probe");
  await rm(kept, { recursive: true, force: true });
  const prefix = cli.executor === "cli-a" ? "CLI_A" : "CLI_B";
  const runAs = process.getuid?.() === 0 ? "1000:1000" : "self";
  const env = {
    [`${prefix}_NAME`]: cli.name,
    [`${prefix}_BIN`]: binary,
    TURND_RUN_AS: runAs,
    PATH: `${process.env["PATH"] ?? "/usr/bin:/bin"}:${tools}`,
  };
  return run("probe", trial, ["src/turnd/main.ts", "probe", "--keep", kept, cli.executor], env);
}

/** Plays every way in which a provider may fail; the recordings are left in `matrix/`, and one that is there stays. */
export function runMatrix(trial: Trial, cases: readonly string[]): Promise<StepResult> {
  const { cli, version, binary, directory } = trial;
  const args = [
    "--executor",
    cli.executor,
    "--version",
    version,
    "--binary",
    binary,
    join(directory, "matrix"),
    ...cases,
  ];
  return run("matrix", trial, ["lab/matrix.ts", ...args]);
}

/** Plays every scene, a run whose end is known beforehand; the labelled recordings are left in `scenes/`. Needs root, for scenes of full disks. */
export function runScenes(trial: Trial): Promise<StepResult> {
  const { cli, version, binary, tools, directory } = trial;
  const args = ["--executor", cli.executor, "--version", version, "--binary", binary, "--tools", tools, "--scenes"];
  return run("scenes", trial, ["lab/matrix.ts", ...args, join(directory, "scenes")]);
}

/**
 * Runs the tests of the real CLIs, which take every version that is pinned.
 *
 * @param names - only files whose path has one of these; empty: all
 */
export function runTests(trial: Trial, names: readonly string[]): Promise<StepResult> {
  return run("tests", trial, ["node_modules/vitest/vitest.mjs", "run", "--project", "real", ...names]);
}

/** Runs a program of this repository; what it prints is shown, and kept in `<name>.txt`. */
async function run(
  name: StepResult["name"],
  { directory, signal, onStarted }: Pick<Trial, "directory" | "signal" | "onStarted">,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<StepResult> {
  process.stderr.write(`upgrade-cli: ${name} …\n`);
  const kept = { all: true, reject: false, maxBuffer: Infinity } as const;
  const child = execa(process.execPath, args, { cwd: ROOT, env, ...kept, cancelSignal: signal, forceKillAfterDelay });
  if (child.pid !== undefined) onStarted(child.pid);
  child.all.pipe(process.stderr, { end: false });
  child.all.pipe(createWriteStream(join(directory, `${name}.txt`)));
  const { exitCode = 1, all } = await child;
  signal.throwIfAborted();
  return { name, exitCode, output: all };
}
