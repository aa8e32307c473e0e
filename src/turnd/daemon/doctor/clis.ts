import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ConfigFile, ConfigurationFault } from "../executors/contract/configuration.ts";
import type { Executor } from "../executors/contract/executor.ts";
import { PERL } from "../process/keeper/keeper.ts";
import { runTool } from "../process/run-tool.ts";
import type { ExecutorRuntime } from "../turns/executors/executor-runtime.ts";
import { describeUnguarded } from "../turns/executors/unguarded.ts";
import { changeHome } from "../process/user-files/change-home.ts";
import { fault, ok, warn, worst, type Check, type Subject, type Verdict } from "./check.ts";

const CHECK_TIMEOUT_MS = 60_000;

/** For a CLI: its binary, and whether it accepts its configuration. */
export function listCliChecks({ id }: Executor): Check[] {
  return [
    {
      name: id,
      about: `${id}'s native binary is found, starts as its user, and has a version that was measured`,
      look: (subject) => checkBinary(find(subject, id), subject.signal),
    },
    {
      name: `${id}-configuration`,
      about: `the CLI itself accepts the configuration that a turn of ${id} would get`,
      look: (subject) => checkConfiguration(subject, find(subject, id)),
    },
  ];
}

/** For a CLI that has a sandbox of its own. */
export function listSandboxChecks({ id, label, sandboxCheck }: Executor): Check[] {
  if (sandboxCheck === undefined) return [];
  const about = `${label}'s own sandbox works, or no turn needs it`;
  return [{ name: `${id}-sandbox`, about, look: (subject) => checkSandbox(find(subject, id), subject.signal) }];
}

function find(subject: Subject, id: Executor["id"]): ExecutorRuntime {
  const runtime = subject.executors.find(({ executor }) => executor.id === id);
  if (runtime === undefined) throw new Error(`executor ${id} is not wired`);
  return runtime;
}

async function checkBinary(runtime: ExecutorRuntime, signal: AbortSignal): Promise<Verdict> {
  const { executor, cliName } = runtime;
  const located = await runtime.locate(signal);
  if (!located.ok) {
    const program = cliName === executor.id ? executor.builtAs : cliName;
    return fault(located.reason, `install ${program}, or name its binary in ${executor.variablePrefix}_BIN`);
  }
  const unguarded = describeUnguarded(executor, cliName, located);
  if (unguarded !== undefined) return fault(unguarded.message, unguarded.remedy);
  if (runtime.allowsWorkspaceCode && executor.codeGuard !== undefined) {
    return warn(
      `${located.path} ${located.version} runs code that a workspace brings: TURND_ALLOW_WORKSPACE_PLUGINS is 1`,
      "unset it where workspaces are not all your own",
    );
  }
  const [oldest, newest] = executor.measuredVersions;
  const message = `${located.path} ${located.version}`;
  if (located.warning !== undefined) return warn(located.warning, `name the native binary of ${cliName} instead`);
  const remedy = `\`turnd probe ${executor.id}\` reports in minutes what breaks; or install ${newest}`;
  if (compareVersions(located.version, newest) > 0) {
    return warn(`${message} is newer than any measured version (${newest} is the newest)`, remedy);
  }
  if (compareVersions(located.version, oldest) < 0) {
    return warn(`${message} is older than any measured version (${oldest} is the oldest)`, remedy);
  }
  return ok(message);
}

/** By their numbers; what follows them does not count. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => (version.match(/\d+/g) ?? []).slice(0, 3).map(Number));
  for (const part of [0, 1, 2]) {
    const difference = (a?.[part] ?? 0) - (b?.[part] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

/** As the CLIs' user, who could put a link in the home's place. env(1) would take a path with `=` for a variable. */
const ENTER = 'chdir shift or die "cannot enter the home: $!\n"; exec { $ARGV[0] } @ARGV';

async function checkConfiguration(subject: Subject, runtime: ExecutorRuntime): Promise<Verdict> {
  const { executor, cliName, configuration, locate } = runtime;
  if (!configuration.isConfigured) return ok(`${cliName} is not configured`);
  const { fault: known } = configuration;
  if (known !== undefined) return fault(known.message, "change the variable it names");
  const located = await locate(subject.signal);
  if (!located.ok) return warn(`cannot be asked: ${located.reason}`, `fix ${executor.id} first`);
  const home = join(subject.scratch, executor.id);
  const turn = { permissions: {}, mode: "execute" as const, cliVersion: located.version };
  const { features } = located;
  const plan = executor.planHome({ home, cliName, configuration, ...turn, ...(features && { cliFeatures: features }) });
  const check = executor.checkConfiguration(configuration);
  const prefix = executor.variablePrefix;
  const judge = async (files: readonly ConfigFile[]): Promise<ConfigurationFault | undefined> => {
    const commands = [
      ...["tmp", ...plan.directories].map((path) => ({ do: "make" as const, path: join(executor.id, path) })),
      ...files.map(({ path, content }) => ({ do: "write" as const, path: join(executor.id, path), content })),
    ];
    await changeHome(subject, subject.scratch, commands, subject.signal);
    const result = await runTool([PERL, "-e", ENTER, home, located.path, ...check.args], {
      runAs: subject.runAs,
      timeoutMs: CHECK_TIMEOUT_MS,
      signal: subject.signal,
      env: { ...subject.env, HOME: home, TMPDIR: join(home, "tmp"), ...plan.env, ...configuration.env },
    });
    return check.judge(result);
  };

  const found = await judge(plan.files);
  if (found !== undefined) {
    const message = `${cliName}: ${found.message}`;
    const remedy = `change the ${prefix}_ variables`;
    return found.keepsFromRunning ? fault(message, remedy) : warn(message, remedy);
  }
  // A binary that reads other places accepts whatever is written here, and would run with its own defaults.
  const names = configuration.files.map(({ path }) => basename(path));
  const unacceptable = plan.files.map((file) =>
    names.includes(basename(file.path)) ? { ...file, content: check.unacceptable } : file,
  );
  if ((await judge(unacceptable))?.keepsFromRunning === true) return ok(`${cliName} accepts its configuration`);
  return fault(
    `${located.path} does not read the configuration that turnd writes for ${cliName}`,
    `name in ${prefix}_NAME what this binary was built as, or another binary in ${prefix}_BIN`,
  );
}

export async function checkStrayConfiguration({ executors, home }: Subject): Promise<Verdict> {
  const verdicts = await Promise.all(
    executors.flatMap(({ executor, cliName }) =>
      executor.strayConfiguration(cliName).map((path) => checkStray(path.replace(/^~/, home), cliName)),
    ),
  );
  return worst([ok("there is none"), ...verdicts]);
}

async function checkStray(path: string, cliName: string): Promise<Verdict> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere ? fault(`${path} is read by ${cliName} in every session`, `remove it: rm -r ${path}`) : ok("");
}

/** A plan and a review need the sandbox whatever the mode of an execution is. */
async function checkSandbox(runtime: ExecutorRuntime, signal: AbortSignal): Promise<Verdict> {
  const { executor, cliName, configuration, locate, trySandbox } = runtime;
  const located = await locate(signal);
  if (!located.ok) return warn(`cannot be asked: ${located.reason}`, `fix ${executor.id} first`);
  const sandbox = await trySandbox(signal);
  if (sandbox.works) return ok(`the sandbox of ${cliName} works`);
  const profile = sandbox.remedy ?? "start the container with --security-opt seccomp=sandbox/seccomp.json";
  if (executor.sandboxCheck?.isNeeded(configuration, "execute") === true) {
    const { switchOff } = executor.sandboxCheck;
    return fault(
      `the sandbox of ${cliName} cannot work here: ${sandbox.message}`,
      switchOff === undefined ? profile : `${profile}, or ${switchOff}`,
    );
  }
  return warn(
    `the sandbox of ${cliName} cannot work here (${sandbox.message}): plans, reviews and tightened sessions end as sandbox_unavailable`,
    profile,
  );
}
