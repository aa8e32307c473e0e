import { join } from "node:path";
import type { CliFeatures } from "../../executors/contract/cli-features.ts";
import type { HomePlan } from "../../executors/contract/invocation.ts";
import { TURN_MARKER } from "../../process/keeper/tree.ts";
import { digestOfInstructions, instructionsOf } from "../lifecycle/turn-instructions.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { serversOf, type SessionSecrets } from "../admission/session-servers.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";

/** What a turn's environment is worked out from. */
export interface CliEnvironmentParts {
  readonly executors: Executors;
  /** What sessions' servers may refer to. */
  readonly sessionSecrets: SessionSecrets;
  readonly sessions: Pick<SessionStore, "get" | "paths">;
  /** HOME of the CLIs. */
  readonly homeDirectory: string;
  /** The allow-listed part of turnd's own environment. */
  readonly baseEnv: Readonly<Record<string, string>>;
}

/** A binary, as far as its home depends on it. */
export interface RunningCli {
  readonly version: string | undefined;
  readonly features?: CliFeatures | undefined;
}

/** The environment of the processes of a turn's CLI. */
export interface CliEnvironment {
  /** The session's home. */
  readonly home: string;
  /** What must be in it. */
  readonly plan: HomePlan;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Works out a turn's home and environment; writes nothing.
 *
 * @param cli - the binary that will run; absent: the one that ran
 */
export function environmentOf(
  parts: CliEnvironmentParts,
  turn: Turn,
  cli: RunningCli = { version: turn.file.cli_version },
): CliEnvironment {
  const { executor, cliName, configuration, allowsWorkspaceCode } = executorOf(parts.executors, turn.file.executor);
  const session = parts.sessions.get(turn.file.session_id);
  if (session === undefined) throw new Error(`session ${turn.file.session_id} is gone`);
  const { home } = parts.sessions.paths(turn.file.session_id);
  const instructions = instructionsOf(session, turn.file);
  const plan = executor.planHome({
    home,
    cliName,
    userHome: parts.homeDirectory,
    configuration,
    permissions: permissionsOf(session, turn.file),
    mode: turn.file.mode,
    mcpServers: serversOf(session, turn.file, parts.sessionSecrets),
    ...(instructions === "" ? {} : { instructions }),
    hasNewInstructions: digestOfInstructions(instructions) !== session.native_instructions,
    ...(turn.file.model === undefined ? {} : { model: turn.file.model }),
    ...(cli.version === undefined ? {} : { cliVersion: cli.version }),
    ...(cli.features === undefined ? {} : { cliFeatures: cli.features }),
    allowsWorkspaceCode,
  });
  const env = {
    ...parts.baseEnv,
    HOME: parts.homeDirectory,
    TMPDIR: join(home, "tmp"),
    ...(turn.file.traceparent === undefined ? {} : { TRACEPARENT: turn.file.traceparent }),
    ...plan.env,
    ...configuration.env,
    [TURN_MARKER]: turn.file.turn_id,
  };
  return { home, plan, env };
}
