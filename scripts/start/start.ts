import { rmSync } from "node:fs";
import { chmod, mkdtemp, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runCommandLine } from "../../src/turnd/commands/command-line.ts";
import { describeError, exitCodeOf } from "../../src/turnd/commands/host.ts";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import type { ProgramOptions } from "../../src/turnd/program.ts";
import { fillEnvironment } from "../fill-environment.ts";
import { findRunningTurnd } from "../running-turnd.ts";

/**
 * Runs turnd on a machine that may be no sandbox image: provides what that lacks, and beside a turnd that runs uses its
 * settings for `turnd doctor`, `turnd probe` and `turnd record`. Variables that are set win over everything.
 *
 * Help and wrong arguments end here: they make no directory and copy no CLI.
 * @param options - its `root` is the repository
 */
export async function start(options: ProgramOptions): Promise<void> {
  const { root } = options;
  const args = process.argv.slice(2);
  // Without arguments there are none that could be wrong.
  if (args.length > 0) await assertCommand(args, root);
  const base =
    process.getuid?.() === 0
      ? "/var/lib/turnd"
      : join(process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local/state"), "turnd");
  try {
    await provide(args, base, root);
  } catch (error) {
    console.error(`turnd: ${describeError(error)}`);
    process.exit(exitCodeOf(error));
  }

  // In this process, so that SIGTERM arrives.
  const { runProgram } = await import("../../src/turnd/program.ts");
  await runProgram({
    ...options,
    onListening(url) {
      options.onListening?.(url);
      console.error(`turnd: open ${url}/ in a browser`);
    },
  });
}

async function provide([command = ""]: readonly string[], base: string, root: string): Promise<void> {
  if (command === "record") await adoptRunningSettings(base, { TURND_STATE_DIR: base });
  else if (command === "probe") await provideForProbe(base, root);
  else if (command !== "doctor") await provideWhatIsMissing(base, root);
  else if (await adoptRunningSettings(base)) await provideWhatIsMissing(base, root);
}

/** Ends the process where the arguments name no command. */
async function assertCommand(args: readonly string[], root: string): Promise<void> {
  let isCommand = false;
  const host = {
    args,
    env: process.env,
    exit: (code: number) => process.exit(code),
    sandboxDirectory: join(root, "sandbox"),
    loadExecutors: async () => EXECUTORS,
  };
  const exitCode = await runCommandLine(host, async () => {
    isCommand = true;
    return 0;
  });
  if (!isCommand) process.exit(exitCode);
}

/** What a probe takes from elsewhere are CLIs and their user: its state, home and workspace are its own, in a temporary directory. */
async function provideForProbe(base: string, root: string): Promise<void> {
  await adoptRunningSettings(base);
  for (const name of ["TURND_STATE_DIR", "TURND_HOME", "TURND_WORKSPACE"]) delete process.env[name];
  process.umask(0o022);
  const directory = await mkdtemp(join(process.getuid?.() === 0 ? "/tmp" : tmpdir(), "turnd-probed-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  await chmod(directory, 0o711);
  const places = { state: join(directory, "state"), users: join(directory, "users"), root, isTemporary: true };
  const { env, notes } = await fillEnvironment(process.env, places);
  Object.assign(process.env, env);
  for (const note of notes) console.error(`turnd: ${note}`);
}

async function provideWhatIsMissing(base: string, root: string): Promise<void> {
  // As `turnd serve` does: each mode that the CLIs' user needs is given.
  process.umask(0o077);
  const given = process.env["TURND_STATE_DIR"];
  const isElsewhere = given !== undefined && given !== "";
  for (const [name, path] of [
    ["TURND_HOME", "/home/sandbox"],
    ["TURND_WORKSPACE", "/workspace"],
  ] as const) {
    if (isElsewhere || process.env[name] !== undefined || process.getuid?.() !== 0) continue;
    if (await isDirectory(path)) process.env[name] = path;
  }
  const state = isElsewhere ? resolve(given) : base;
  const hasWorkspace = (process.env["TURND_WORKSPACE"] ?? "") !== "";
  const { env, notes } = await fillEnvironment(process.env, { state, users: `${state}-users`, root });
  Object.assign(process.env, env);
  if (isElsewhere && !hasWorkspace) await allowUsualPlace(`${base}-users/workspace`);
  for (const note of notes) console.error(`turnd: ${note}`);
  console.error(`turnd: state in ${process.env["TURND_STATE_DIR"]}, workspace ${process.env["TURND_WORKSPACE"]}`);
}

/**
 * Without one, only what is set here counts.
 *
 * @param base - the state directory, unless the environment names one
 * @param otherwise - what is neither set here nor for the turnd that runs
 * @returns whether its settings are known
 */
async function adoptRunningSettings(base: string, otherwise: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const running = await findRunningTurnd(process.env["TURND_STATE_DIR"] ?? base);
  if (running !== undefined && running.env === undefined) {
    console.error(`turnd: this user may not read the settings of the turnd that runs, process ${running.pid}`);
  } else if (running !== undefined) {
    console.error(`turnd: what is not set here is as for the turnd that runs, process ${running.pid}`);
  }
  Object.assign(process.env, { ...otherwise, ...running?.env, ...process.env });
  return running?.env !== undefined;
}

/** Sessions of a state that is elsewhere may work where workspaces are for a state at its usual place. */
async function allowUsualPlace(workspace: string): Promise<void> {
  const { TURND_WORKSPACE_ROOTS: roots, TURND_WORKSPACE, TURND_HOME } = process.env;
  if (roots !== undefined || workspace === TURND_WORKSPACE || !(await isDirectory(workspace))) return;
  process.env["TURND_WORKSPACE_ROOTS"] = [TURND_WORKSPACE, TURND_HOME, workspace].join(":");
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
