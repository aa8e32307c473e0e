import type { TurnStatus } from "../../protocol/index.ts";
import { table } from "../../../kit/command-line/text.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { readWanted } from "./read-wanted.ts";

export interface TurnsOptions {
  readonly session?: string;
  readonly status?: TurnStatus;
  readonly limit: number;
  readonly all?: true;
}

/** `turnd turns`: the newest first. */
export async function listTurns(context: Context, options: TurnsOptions): Promise<ExitCode> {
  const { client, signal } = context;
  const { session: sessionId, status } = options;
  const turns = await readWanted(options, (limit) => client.eachTurn({ sessionId, status, limit, signal }));
  if (context.isJson) for (const turn of turns) await context.printJson(turn);
  else if (context.isQuiet) for (const turn of turns) await context.print(`${turn.turn_id}\n`);
  else if (turns.length === 0) context.terminal.notice("turnd: there are no such turns");
  else {
    const rows = turns.map((turn) => [turn.turn_id, turn.status, turn.executor, turn.created_at, turn.session_id]);
    await context.print(`${table(["TURN", "STATUS", "EXECUTOR", "CREATED", "SESSION"], rows)}\n`);
  }
  return EXIT.done;
}
