import { chmod, mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { shownOn } from "../../kit/command-line/text.ts";
import { readConfigurations } from "../daemon/serve/configurations.ts";
import { describeUselessVariables } from "./unknown-variables.ts";
import type { Check, OwnPort, Subject, Verdict } from "../daemon/doctor/check.ts";
import { listChecks } from "../daemon/doctor/list-checks.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";
import type { Redact } from "../daemon/event-log/redact.ts";
import { SettingsError, type Settings } from "../daemon/settings.ts";
import { ACCOUNTS } from "../daemon/process/accounts.ts";
import { toRunAs, type RunAs } from "../daemon/process/run-as.ts";
import { createTemporaryHomes } from "../daemon/process/user-files/temporary-home.ts";
import { assertPlaces } from "../daemon/serve/check-directories.ts";
import { resolveProtectedPath } from "../daemon/process/user-files/protected-path.ts";
import { protectSearchPath } from "../daemon/process/user-files/search-path.ts";
import { removeDirectory } from "../daemon/process/user-files/remove-directory.ts";
import { makeUserDirectory } from "../daemon/process/user-files/user-directory.ts";
import { createExecutorRuntime } from "../daemon/turns/executors/executor-runtime.ts";
import { limitsOf } from "../daemon/serve/turn-groups.ts";
import { VERSION } from "../daemon/version.ts";

export interface DoctorOptions {
  /** Reads and checks the environment; an error it throws is the first finding. */
  readonly readSettings: () => Settings;
  /** The CLIs that turnd drives. */
  readonly executors: readonly Executor[];
  /** `sandbox/`: the keeper and the home writer. */
  readonly sandboxDirectory: string;
  /** Where the machine's users are named; absent: where they are. */
  readonly accountsFile?: string;
  /** Takes secrets out of what is printed. */
  readonly redact: Redact;
  readonly isJson: boolean;
  readonly out: Writable;
  /** Stops it; everything that was started and made for the checks is gone when it has stopped. */
  readonly signal: AbortSignal;
}

/** Where the image's front listens, as `sandbox/render-front` has it. */
const FRONT_PORT = 8080;

interface Finding extends Verdict {
  readonly name: string;
}

/**
 * Looks at everything turnd needs of an image or a machine, one line per check.
 *
 * Changes nothing that stays, starts no turn, asks no provider and prints no secret.
 * @returns 1 when there is a fault, otherwise 0
 * @throws the signal's reason, once it has aborted
 */
export async function runDoctor(options: DoctorOptions): Promise<0 | 1> {
  const findings = (await examine(options)).map((finding) => withoutSecrets(finding, options.redact));
  const hasFault = findings.some(({ level }) => level === "fault");
  const text = options.isJson
    ? `${JSON.stringify({ ok: !hasFault, version: VERSION, checks: findings }, null, 2)}\n`
    : findings.map(toLine).join("");
  // What CLIs and names of files say is quoted in it.
  options.out.write(shownOn(options.out, text));
  return hasFault ? 1 : 0;
}

async function examine(options: DoctorOptions): Promise<Finding[]> {
  let settings: Settings;
  let configured: ReturnType<typeof readConfigurations>;
  try {
    settings = options.readSettings();
    assertPlaces(settings, dirname(options.sandboxDirectory));
    configured = readConfigurations(settings, options.executors);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const message = error.message.replaceAll("\n", "; ");
    const remedy = "change the variables it names; the other checks go by them";
    return [{ name: "settings", level: "fault", message, remedy }];
  }
  const runAs = toRunAs(settings.runAs, options.sandboxDirectory);
  const directory = await makeScratch(settings, runAs);
  try {
    const described = await describeSubject(options, settings, configured, directory);
    const subject = { ...described, signal: options.signal };
    const findings = await Promise.all(listChecks(options.executors).map((check) => examineOne(check, subject)));
    options.signal.throwIfAborted();
    return [judgeVariables(settings, options.executors), ...findings];
  } finally {
    await removeDirectory(directory, { runAs });
  }
}

function judgeVariables({ env }: Settings, executors: readonly Executor[]): Finding {
  const unknown = describeUselessVariables(env, executors);
  if (unknown.length === 0) return { name: "settings", level: "ok", message: "every variable is allowed" };
  return { name: "settings", level: "warn", message: unknown.join("; "), remedy: "correct their names, or unset them" };
}

function withoutSecrets(finding: Finding, redact: Redact): Finding {
  const { message, remedy } = finding;
  return { ...finding, message: redact(message), ...(remedy === undefined ? {} : { remedy: redact(remedy) }) };
}

async function examineOne(check: Check, subject: Subject): Promise<Finding> {
  try {
    return { name: check.name, ...(await check.look(subject)) };
  } catch (error) {
    // A check that fails must not hide the others.
    const message = `could not be checked: ${error instanceof Error ? error.message : String(error)}`;
    return { name: check.name, level: "fault", message };
  }
}

function toLine({ level, name, message, remedy }: Finding): string {
  const line = remedy === undefined ? message : `${message}; ${remedy}`;
  return `${level.padEnd(5)} ${name}: ${line.replaceAll("\n", " ")}\n`;
}

/** A directory that the CLIs' user can reach but not replace, wherever one can be made. */
async function makeScratch({ values }: Settings, runAs: RunAs): Promise<string> {
  let last: unknown;
  for (const parent of [tmpdir(), "/run", "/dev/shm", values.TURND_STATE_DIR]) {
    try {
      const place = runAs.isSelf ? parent : await resolveProtectedPath(parent, runAs);
      if (place === undefined) throw new Error(`uid ${runAs.uid} could change ${parent}`);
      const directory = await mkdtemp(join(place, `turnd-doctor-${process.pid}-`));
      await chmod(directory, 0o711);
      await mkdir(join(directory, "own"), { mode: 0o700 });
      await makeUserDirectory(join(directory, "user"), runAs);
      return directory;
    } catch (error) {
      last = error;
    }
  }
  throw new SettingsError([
    `no directory can be made anywhere: ${last instanceof Error ? last.message : String(last)}`,
  ]);
}

async function describeSubject(
  { sandboxDirectory, accountsFile = ACCOUNTS }: DoctorOptions,
  settings: Settings,
  configured: ReturnType<typeof readConfigurations>,
  directory: string,
): Promise<Omit<Subject, "signal">> {
  const { values } = settings;
  const runAs = toRunAs(settings.runAs, sandboxDirectory);
  // As the daemon does.
  const { path } = await protectSearchPath(settings.passedEnv["PATH"], runAs);
  const env = { SHELL: "/bin/bash", ...settings.passedEnv, PATH: path };
  const scratch = join(directory, "user");
  // As the daemon does; a home that is left is removed with the directory around it.
  const withTemporaryHome = createTemporaryHomes({ places: [directory], runAs, onLeft: () => undefined });
  return {
    home: values.TURND_HOME,
    stateDirectory: values.TURND_STATE_DIR,
    workspace: values.TURND_WORKSPACE,
    workspaceRoots: settings.workspaceRoots,
    runAs,
    accountsFile,
    env,
    executors: configured.map(({ executor, cliName, configuration, explicitBinary }) =>
      createExecutorRuntime({
        transport: { wanted: settings.values.TURND_TRANSPORT, hasGroups: false },
        executor,
        cliName,
        configuration,
        env,
        runAs,
        withTemporaryHome,
        redact: (text) => text,
        isProviderChecked: false,
        allowsWorkspaceCode: values.TURND_ALLOW_WORKSPACE_PLUGINS === "1",
        now: () => new Date(),
        ...(explicitBinary === undefined ? {} : { explicitBinary }),
      }),
    ),
    ports: listPorts(settings),
    hasToken: settings.token !== undefined,
    tokenFile: values.TURND_TOKEN === undefined ? values.TURND_TOKEN_FILE : undefined,
    turnLimits: { ...limitsOf(settings), isOff: values.TURND_TURN_CGROUPS === "off" },
    keeperPath: join(sandboxDirectory, "keeper"),
    ownScratch: join(directory, "own"),
    scratch,
    now: new Date(),
  };
}

/** Port 0 is any port: there is nothing to check. */
function listPorts({ values, env }: Pick<Settings, "values" | "env">): OwnPort[] {
  const api: OwnPort = { what: "/v1", host: values.TURND_HOST, port: values.TURND_PORT, isNeeded: true };
  const terminal: OwnPort[] =
    values.TURND_TERMINAL_PORT === "off"
      ? []
      : [{ what: "terminal", host: values.TURND_TERMINAL_HOST, port: values.TURND_TERMINAL_PORT, isNeeded: true }];
  const frontPort = Number(env["SANDBOX_PORT"] ?? FRONT_PORT);
  const front: OwnPort = { what: "front", host: "0.0.0.0", port: frontPort, isNeeded: false };
  return [api, ...terminal, front].filter(({ port }) => port !== 0);
}
