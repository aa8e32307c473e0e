import { join } from "node:path";
import type { Transport } from "../../../protocol/index.ts";
import { defined } from "../../../../kit/defined.ts";
import type { CliFeatures } from "../../executors/contract/cli-features.ts";
import type { HomePlan } from "../../executors/contract/invocation.ts";
import { TURN_MARKER } from "../../process/keeper/tree.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { serversOf, type SessionSecrets } from "../admission/session-servers.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import { digestOfInstructions, instructionsOf } from "../lifecycle/turn-instructions.ts";
import type { Turn } from "../lifecycle/turn.ts";

/** What is the same for the environments of all turns. */
export interface EnvironmentOptions {
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
  /** How it is driven; absent: a process for the turn. */
  readonly transport?: Transport | undefined;
}

/** The environment of the processes of a turn's CLI. */
export interface CliEnvironment {
  /** The session's home. */
  readonly home: string;
  /** What must be in it. */
  readonly plan: HomePlan;
  /** Whether the plan's files hold what a request or its session has for MCP servers, such as keys. */
  readonly hasMcpServers: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Works out a turn's home and environment; writes nothing.
 *
 * @param cli - the binary that will run; absent: the one that ran
 */
export type EnvironmentOf = (turn: Turn, cli?: RunningCli) => CliEnvironment;

/** Makes what works out the environments of a daemon's turns. */
export function createEnvironments(options: EnvironmentOptions): EnvironmentOf {
  const { executors, sessions, sessionSecrets, homeDirectory, baseEnv } = options;
  return ({ file }, cli = { version: file.cli_version, transport: file.transport }) => {
    const { executor, cliName, configuration, allowsWorkspaceCode } = executorOf(executors, file.executor);
    const session = sessions.get(file.session_id);
    if (session === undefined) throw new Error(`session ${file.session_id} is gone`);
    const { home } = sessions.paths(file.session_id);
    const instructions = instructionsOf(session, file);
    const mcpServers = serversOf(session, file, sessionSecrets);
    const plan = executor.planHome({
      home,
      cliName,
      userHome: homeDirectory,
      configuration,
      permissions: permissionsOf(session, file),
      mode: file.mode,
      mcpServers,
      ...(instructions === "" ? {} : { instructions }),
      hasNewInstructions: digestOfInstructions(instructions) !== session.native_instructions,
      ...defined({ model: file.model, cliVersion: cli.version, cliFeatures: cli.features, transport: cli.transport }),
      allowsWorkspaceCode,
    });
    const env = {
      ...baseEnv,
      HOME: homeDirectory,
      TMPDIR: join(home, "tmp"),
      ...defined({ TRACEPARENT: file.traceparent }),
      ...plan.env,
      ...configuration.env,
      [TURN_MARKER]: file.turn_id,
    };
    return { home, plan, hasMcpServers: Object.keys(mcpServers).length > 0, env };
  };
}
