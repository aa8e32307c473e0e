import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { defined } from "../../../kit/defined.ts";
import { renderConfigurations, type ConfiguredExecutor } from "./configurations.ts";
import type { Executor } from "../executors/contract/executor.ts";
import { describeLogin, readAccounts } from "../process/accounts.ts";
import { toRunAs } from "../process/run-as.ts";
import { tryKeeper, type KeeperState } from "../process/keeper/keeper-check.ts";
import { HomeError } from "../process/user-files/change-home.ts";
import { removeOwnDirectory } from "../process/user-files/own-directory.ts";
import { removeDirectory } from "../process/user-files/remove-directory.ts";
import { createTemporaryHomes, removeTemporaryHomes } from "../process/user-files/temporary-home.ts";
import { protectSearchPath } from "../process/user-files/search-path.ts";
import type { Starter } from "../process/starter/starter.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import type { Settings } from "../settings.ts";
import { openStateIndex } from "../state-index/state-index.ts";
import { gitDirectoryIn, makeGitDirectory } from "../turns/store/git-directory.ts";
import type { TurnServiceParts } from "../turns/create-turn-service.ts";
import { createExecutorRuntime, type ExecutorRuntime } from "../turns/executors/executor-runtime.ts";
import type { SecretBook } from "../turns/store/secret-book.ts";
import { VERSION } from "../version.ts";
import { availableBytes, openGroups } from "./turn-groups.ts";

export interface TurnPartsOptions {
  readonly settings: Settings;
  /** The CLIs that turns run, as the environment describes them. */
  readonly configured: readonly ConfiguredExecutor[];
  /** `sandbox/`: the keeper and the helper. */
  readonly sandboxDirectory: string;
  readonly logger: Logger;
  readonly secrets: SecretBook;
  /** Absent: each process is started by this one. */
  readonly starter?: Starter;
}

/** All that turns run with but who looks on. */
export type TurnParts = Omit<TurnServiceParts, "observer" | "tracer">;

/** Wires what turns run with, for a daemon or a probe; makes the directories it needs below the state directory. */
export async function createTurnParts({
  settings,
  configured,
  sandboxDirectory,
  logger,
  secrets,
  starter,
}: TurnPartsOptions): Promise<TurnParts> {
  const { values } = settings;
  const runAs = toRunAs(settings.runAs, sandboxDirectory);
  const stateDirectory = values.TURND_STATE_DIR;
  const started = defined({ starter });
  const keeperPath = join(sandboxDirectory, "keeper");
  const onLeft = (path: string, error: unknown): void =>
    logger.warn({ path, err: error }, "temporary home of a CLI is left");
  await removeTemporaryHomes(stateDirectory, { runAs, onLeft });
  const withTemporaryHome = createTemporaryHomes({ places: [stateDirectory, tmpdir()], runAs, onLeft });
  const groups = await openGroups(settings, { keeperPath, ...started });
  if (groups.reason !== undefined) logger.info({ reason: groups.reason }, "turns have no limits of their own");
  // Each waits for a process of its own.
  const gitDirectory = gitDirectoryIn(stateDirectory);
  const home = { home: values.TURND_HOME, runAs, ...started };
  const [keeper, ...notMade] = await Promise.all([
    tryKeeper({ keeperPath, stateDirectory, runAs, ...started }),
    // The sessions' own homes hold what their turns need.
    attempt("configurations could not be rendered", () => renderConfigurations(configured, home)),
    attempt("what turns change is not recorded", () => makeGitDirectory(gitDirectory)),
  ]);
  const search = await protectSearchPath(settings.passedEnv["PATH"], runAs);
  const warnings = [
    ...search.dropped.map(
      (entry) => `PATH: "${entry}" is left out for the CLIs, since their user can put programs there`,
    ),
    ...configured.flatMap(({ configuration }) => configuration.warnings),
    ...describeKeeper(keeper, runAs.isSelf),
    ...[describeLogin(await readAccounts(), runAs, values.TURND_HOME)].filter((login) => login !== undefined),
    ...notMade.flat(),
  ];
  const baseEnv = { SHELL: "/bin/bash", ...settings.passedEnv, PATH: search.path };
  const index = openStateIndex({
    path: join(stateDirectory, "index.db"),
    sessionsDirectory: join(stateDirectory, "sessions"),
    onFault: (error) =>
      logger.warn({ err: error }, "index of the state is kept in memory; the next start makes it again"),
  });
  const sessions = await openSessionStore({
    stateDirectory,
    index,
    owner: runAs,
    removeTree: (path, bounds) => removeDirectory(path, { runAs, ...bounds }),
    removeWorkspace: (path, bounds) => removeOwnDirectory(path, { runAs, ...bounds }),
    onUnreadable: (path, reason) => logger.error({ path, reason }, "session cannot be read and is left alone"),
    onExposed: (path, error) => logger.warn({ path, err: error }, "directory of the sessions may be listed by others"),
    onLeft: (path, error) => logger.error({ path, err: error }, "part of a deleted session is left"),
  });
  const executors = new Map<Executor["id"], ExecutorRuntime>();
  for (const { executor, cliName, configuration, explicitBinary } of configured) {
    executors.set(
      executor.id,
      createExecutorRuntime({
        executor,
        cliName,
        configuration,
        env: baseEnv,
        runAs,
        withTemporaryHome,
        redact: secrets.redact,
        isProviderChecked: values.TURND_CHECK_PROVIDER === "on",
        allowsWorkspaceCode: values.TURND_ALLOW_WORKSPACE_PLUGINS === "1",
        transport: { wanted: values.TURND_TRANSPORT, hasGroups: groups.groups !== undefined },
        now: () => new Date(),
        ...defined({ explicitBinary }),
      }),
    );
  }
  return {
    version: VERSION,
    stateDirectory,
    keeperPath,
    ...started,
    homeDirectory: values.TURND_HOME,
    workspace: values.TURND_WORKSPACE,
    workspaceRoots: settings.workspaceRoots,
    sessionWorkspace: values.TURND_SESSION_WORKSPACE,
    runAs,
    limits: {
      maxTurns: values.TURND_MAX_TURNS,
      maxQueued: values.TURND_MAX_QUEUED,
      turnTimeoutMs: values.TURND_TURN_TIMEOUT_MS,
      idleTimeoutMs: values.TURND_IDLE_TIMEOUT_MS,
      startTimeoutMs: values.TURND_START_TIMEOUT_MS,
      exitTimeoutMs: values.TURND_EXIT_TIMEOUT_MS,
      cancelGraceMs: values.TURND_CANCEL_GRACE_MS,
      shutdownMs: values.TURND_SHUTDOWN_MS,
      steerWaitMs: values.TURND_STEER_WAIT_MS,
      maxOutputBytes: values.TURND_MAX_OUTPUT_BYTES,
      maxLineBytes: values.TURND_MAX_LINE_BYTES,
      minFreeBytes: values.TURND_MIN_FREE_BYTES,
      answerMs: answerMsOf(values.TURND_START_TIMEOUT_MS),
      approvalMs: values.TURND_APPROVAL_TIMEOUT_MS,
      maxToolOutputBytes: values.TURND_MAX_TOOL_OUTPUT_BYTES,
    },
    defaultTransport: values.TURND_TRANSPORT,
    warm: {
      maxIdle: values.TURND_MAX_WARM_B ?? values.TURND_MAX_TURNS + 2,
      maxLarge: values.TURND_MAX_WARM_A ?? defaultLarge(values.TURND_MAX_TURNS),
      idleMs: values.TURND_WARM_IDLE_MS,
      answerMs: answerMsOf(values.TURND_START_TIMEOUT_MS),
      graceMs: values.TURND_CANCEL_GRACE_MS,
    },
    baseEnv,
    sessionSecrets: settings.sessionSecrets,
    changes: {
      gitDirectory,
      timeoutMs: values.TURND_DIFF_TIMEOUT_MS,
      maxCopyBytes: values.TURND_DIFF_MAX_COPY_BYTES,
      maxBytes: values.TURND_MAX_DIFF_BYTES,
      isDefault: values.TURND_TURN_DIFF === "on",
    },
    groups,
    hasSubreaper: keeper.works && keeper.isSubreaper,
    warnings,
    sessions,
    index,
    retention: {
      days: values.TURND_RETENTION_DAYS,
      bytes: values.TURND_RETENTION_BYTES,
      sessionBytes: values.TURND_RETENTION_SESSION_BYTES,
    },
    isInUse: () => false,
    executors,
    secrets,
    now: () => new Date(),
    clock: Date.now,
    logger,
  };
}

/** A server that does not answer is waited for as a process that does not begin; where that has no limit, a minute. */
const BYTES_OF_A_LARGE_SERVER = 2 * 1_024 ** 3;

function defaultLarge(maxTurns: number): number {
  return Math.max(1, Math.min(maxTurns, Math.floor(availableBytes() / BYTES_OF_A_LARGE_SERVER)));
}

function answerMsOf(startTimeoutMs: number): number {
  return startTimeoutMs === 0 ? 60_000 : startTimeoutMs;
}

function describeKeeper(keeper: KeeperState, isSelf: boolean): string[] {
  if (!keeper.works) return [`no turn can run: ${keeper.reason}`];
  return [
    ...(keeper.isSubreaper ? [] : ["no subreaper here: an escaped process is found only by its environment"]),
    ...(isSelf ? ["the CLIs run as turnd's own user: they could read its state and end it"] : []),
  ];
}

/** Reports what a full or broken disk keeps from being made: turnd still serves what it has. */
async function attempt(fault: string, make: () => Promise<unknown>): Promise<string[]> {
  try {
    await make();
    return [];
  } catch (error) {
    if (!(error instanceof HomeError) && !(error instanceof Error && "code" in error)) throw error;
    return [`${fault}: ${error.message}`];
  }
}
