import { join } from "node:path";
import type { HomePlan } from "../../executors/contract/executor.ts";
import { TURN_MARKER } from "../../process/keeper/tree.ts";
import { executorOf, type TurnContext } from "../context.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";

/** What the processes of a turn's CLI find around them. */
export interface CliSurroundings {
  /** The session's home. */
  readonly home: string;
  /** What must be in it. */
  readonly plan: HomePlan;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Works out a turn's home and environment; writes nothing.
 *
 * @param cliVersion - of the binary that will run; absent: of the one that ran
 */
export function surroundingsOf(context: TurnContext, turn: Turn, cliVersion = turn.file.cli_version): CliSurroundings {
  const { executor, cliName, configuration } = executorOf(context, turn.file.executor);
  const session = context.sessions.get(turn.file.session_id);
  if (session === undefined) throw new Error(`session ${turn.file.session_id} is gone`);
  const { home } = context.sessions.paths(turn.file.session_id);
  const plan = executor.planHome({
    home,
    cliName,
    configuration,
    permissions: permissionsOf(session, turn.file),
    mode: turn.file.mode,
    mcpServers: turn.file.mcp_servers ?? {},
    ...(turn.file.model === undefined ? {} : { model: turn.file.model }),
    ...(cliVersion === undefined ? {} : { cliVersion }),
  });
  const env = {
    ...context.baseEnv,
    HOME: context.homeDirectory,
    TMPDIR: join(home, "tmp"),
    ...plan.env,
    ...configuration.env,
    [TURN_MARKER]: turn.file.turn_id,
  };
  return { home, plan, env };
}
