import type { Logger } from "pino";
import type { RunAs } from "../../process/run-as.ts";
import type { Helper } from "../../process/starter/starter.ts";
import { changeHome, type HomeCommand } from "../../process/user-files/change-home.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { ChangeRecorder } from "../store/record-changes.ts";
import type { EnvironmentOf } from "./cli-environment.ts";

export interface TidyingOptions {
  readonly environmentOf: EnvironmentOf;
  readonly sessions: Pick<SessionStore, "get" | "paths">;
  readonly recorder: Pick<ChangeRecorder, "after">;
  readonly runAs: RunAs;
  readonly starter?: Helper;
  readonly logger: Logger;
}

/** Removes what ended turns leave in their sessions' homes: after their ends, one at a time in a home. */
export interface Tidying {
  /** Begins to remove what a turn has left. Returns at once. */
  begin(turn: Turn, options: { readonly hasHome: boolean }): void;
  /** Resolves when a session's home is tidy: what changes the home itself waits for this. */
  settled(sessionId: string): Promise<void>;
  /** Resolves when every home is. */
  allSettled(): Promise<void>;
}

/** Makes the tidying of a daemon. */
export function createTidying(options: TidyingOptions): Tidying {
  const underWay = new Map<string, Promise<void>>();
  const settled = async (sessionId: string): Promise<void> => underWay.get(sessionId);

  async function tidy(before: Promise<void>, turn: Turn, hasHome: boolean): Promise<void> {
    await before;
    const logger = options.logger.child({ sessionId: turn.file.session_id });
    // Before the next turn of the session changes the workspace.
    if (turn.file.replay === undefined && hasHome) await options.recorder.after(turn, logger);
    await tidyHome({ ...options, logger }, turn, hasHome);
  }

  return {
    begin(turn, { hasHome }) {
      const { session_id: sessionId } = turn.file;
      const mine = tidy(settled(sessionId), turn, hasHome).finally(() => {
        if (underWay.get(sessionId) === mine) underWay.delete(sessionId);
      });
      underWay.set(sessionId, mine);
    },
    settled,
    async allSettled() {
      await Promise.all(underWay.values());
    },
  };
}

/**
 * Removes what a turn leaves in the session's home: CLI A leaves 4.7 MB of temporary files a run.
 *
 * @param hasHome - false for a turn that ended while it waited in line: what else is there is another turn's
 *
 * Never throws: what cannot be removed is logged, and the next turn tries again.
 */
async function tidyHome(options: TidyingOptions, turn: Turn, hasHome: boolean): Promise<void> {
  const { file } = turn;
  // Nothing was put there for a turn that was never prepared, and a replay leaves nothing.
  if (file.replay !== undefined || (!hasHome && file.started_at === undefined)) return;
  try {
    const tidy: readonly HomeCommand[] = hasHome
      ? // What a daemon that was killed had not come to remove goes with it.
        [
          { do: "empty", path: "tmp" },
          { do: "remove", path: "turn" },
          ...listLeft(options, turn).map((path): HomeCommand => ({ do: "remove", path })),
        ]
      : [{ do: "remove", path: `turn/${file.turn_id}` }];
    await changeHome(options, options.sessions.paths(file.session_id).home, tidy);
  } catch (error) {
    options.logger.warn({ turnId: file.turn_id, err: error }, "home could not be tidied");
  }
}

/** What the CLI leaves; configuration with what request and session brought in it, keys of MCP servers too: the next turn gets another. */
function listLeft({ environmentOf, sessions }: TidyingOptions, turn: Turn): readonly string[] {
  if (sessions.get(turn.file.session_id) === undefined) return [];
  const { plan, hasMcpServers } = environmentOf(turn);
  const { leftovers = [], files } = plan;
  return hasMcpServers ? [...leftovers, ...files.map(({ path }) => path)] : leftovers;
}
