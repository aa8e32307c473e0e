import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { pino } from "pino";
import { defined } from "../../kit/defined.ts";
import { shownOn } from "../../kit/command-line/text.ts";
import { createRedactor } from "../daemon/event-log/redact.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";
import { startScriptedModel } from "../../scripted-model/server.ts";
import { readConfigurations } from "../daemon/serve/configurations.ts";
import { createTurnParts } from "../daemon/serve/turn-parts.ts";
import { secretsInEnvironment } from "../daemon/executors/secrets/secret-values.ts";
import type { ProbeStage } from "../daemon/probe/play.ts";
import { probe, type Finding, type OnPlayed } from "../daemon/probe/probe.ts";
import { formatFinding, isBroken } from "../daemon/probe/report.ts";
import { toRunAs } from "../daemon/process/run-as.ts";
import { removeDirectory } from "../daemon/process/user-files/remove-directory.ts";
import { makeUserDirectory } from "../daemon/process/user-files/user-directory.ts";
import { writeRecording } from "../daemon/replay/write-recording.ts";
import { readSettings, type Identity, type Settings } from "../daemon/settings.ts";
import { makeNewDirectory } from "../daemon/storage/directories.ts";
import type { TurnObserver } from "../daemon/turns/lifecycle/observer.ts";
import { PASSING_ON } from "../daemon/turns/lifecycle/tracer.ts";
import { createSecretBook } from "../daemon/turns/store/secret-book.ts";
import { startTurnService } from "../daemon/turns/create-turn-service.ts";

export interface ProbeOptions {
  /** turnd's own environment: which CLIs there are, and the user they run as. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly self: Identity;
  /** The CLIs that turnd drives. */
  readonly executors: readonly Executor[];
  /** `sandbox/`: the keeper and the home writer. */
  readonly sandboxDirectory: string;
  /** Findings as one JSON document instead of lines. */
  readonly isJson: boolean;
  /** Names of those that are played; absent: all. */
  readonly scenarios?: readonly string[];
  /** Gets a recording of each scenario, as `<executor>/<scenario>`. */
  readonly keepIn?: string;
  readonly out: Writable;
  readonly err: Writable;
  /** Ends the turns that run and removes everything. */
  readonly signal: AbortSignal;
}

/**
 * Runs the scenarios with the installed CLIs and prints how they differ from the versions that turnd knows.
 *
 * @returns 0, or 1 when a change breaks turnd, or a CLI cannot be run
 */
export async function printProbe(probed: readonly Executor[], options: ProbeOptions): Promise<0 | 1> {
  const { keepIn, scenarios } = options;
  const redact = createRedactor(secretsInEnvironment(options.env));
  const findings: Finding[] = [];
  await withProbeStage(options, async (stage) => {
    for (const executor of probed) {
      const onPlayed: OnPlayed = async (scenario, turnDirectory) => {
        if (!options.isJson) options.err.write(`turnd: played ${executor.id} ${scenario}\n`);
        if (keepIn !== undefined) await writeRecording(turnDirectory, join(keepIn, executor.id, scenario), redact);
      };
      const finding = await probe(stage, executor, { onPlayed, ...defined({ scenarios }) });
      findings.push(finding);
      if (!options.isJson) options.out.write(shownOn(options.out, formatFinding(finding)));
    }
  });
  if (keepIn !== undefined) options.err.write(`turnd: recordings of the scenarios are in ${keepIn}\n`);
  if (options.isJson) options.out.write(shownOn(options.out, `${JSON.stringify(findings, null, 2)}\n`));
  return findings.some(isBroken) ? 1 : 0;
}

type StageOptions = Pick<ProbeOptions, "env" | "self" | "executors" | "sandboxDirectory" | "err" | "signal">;

/**
 * Sets up an environment like the daemon's, with a model on loopback and everything on disk in one temporary directory.
 * When this resolves, nothing of it is left: no process, no file, no port.
 */
export async function withProbeStage(options: StageOptions, use: (stage: ProbeStage) => Promise<void>): Promise<void> {
  const { env, self, executors } = options;
  const isRoot = self.uid === 0;
  const model = await startScriptedModel();
  try {
    // The CLIs' user has to reach it, which need not hold for the directory of TMPDIR.
    const base = await mkdtemp(join(isRoot ? "/tmp" : tmpdir(), `turnd-probe-${process.pid}-`));
    await chmod(base, 0o711);
    const settings = readSettings(probeEnv(env, executors, { base, modelUrl: model.url, isRoot }), self);
    try {
      await play(options, settings, base, use);
    } finally {
      await removeDirectory(base, { runAs: toRunAs(settings.runAs, options.sandboxDirectory) });
    }
  } finally {
    await model.close();
  }
}

async function play(
  { env, executors, sandboxDirectory, err, signal }: StageOptions,
  settings: Settings,
  base: string,
  use: (stage: ProbeStage) => Promise<void>,
): Promise<void> {
  const { values } = settings;
  const runAs = toRunAs(settings.runAs, sandboxDirectory);
  const workspaces = join(base, "workspaces");
  for (const path of [values.TURND_STATE_DIR, workspaces]) await makeNewDirectory(path, 0o711);
  for (const path of [values.TURND_HOME, values.TURND_WORKSPACE]) await makeUserDirectory(path, runAs, 0o755);
  const parts = await createTurnParts({
    settings,
    configured: readConfigurations(settings, executors),
    sandboxDirectory,
    logger: pino({ name: "turnd", level: "error" }, err),
    secrets: createSecretBook(secretsInEnvironment(env)),
  });
  const service = await startTurnService({ ...parts, observer: UNOBSERVED, tracer: PASSING_ON });
  try {
    await use({ service, stateDirectory: values.TURND_STATE_DIR, workspaces, owner: runAs, signal });
  } finally {
    await service.shutDown();
    parts.index.close();
  }
}

/** Takes only CLIs and user from the given environment; providers, keys and directories are the probe's own. */
function probeEnv(
  given: ProbeOptions["env"],
  executors: readonly Executor[],
  { base, modelUrl, isRoot }: { base: string; modelUrl: string; isRoot: boolean },
): Record<string, string | undefined> {
  const prefixes = executors.map(({ variablePrefix }) => `${variablePrefix}_`);
  const isKept = (name: string): boolean => {
    const prefix = prefixes.find((candidate) => name.startsWith(candidate));
    if (prefix !== undefined) return [`${prefix}NAME`, `${prefix}BIN`].includes(name);
    return name === "TURND_RUN_AS" || !/^TURND_|_proxy$/i.test(name);
  };
  const kept = Object.entries(given).filter(([name]) => isKept(name));
  // No program listens there: what a CLI wants from anywhere but loopback fails at once.
  const unreachable = "http://127.0.0.1:9";
  return {
    ...(isRoot ? {} : { TURND_RUN_AS: "self" }),
    ...Object.fromEntries(kept),
    TURND_STATE_DIR: join(base, "state"),
    TURND_HOME: join(base, "home"),
    TURND_WORKSPACE: join(base, "workspace"),
    TURND_WORKSPACE_ROOTS: join(base, "workspaces"),
    // In version 2 turnd would move itself into another group, and the shell that runs the probe is no service.
    TURND_TURN_CGROUPS: "off",
    HTTP_PROXY: unreachable,
    HTTPS_PROXY: unreachable,
    ALL_PROXY: unreachable,
    NO_PROXY: "127.0.0.1",
    ...Object.fromEntries(
      executors.flatMap(({ probe: plan }) => Object.entries({ ...plan?.provider(modelUrl), ...plan?.variables })),
    ),
  };
}

const UNOBSERVED: TurnObserver = {
  eventsWritten() {},
  eventsSkipped() {},
  firstEvent() {},
  processesSwept() {},
  sessionRetired() {},
  turnEnded() {},
};
