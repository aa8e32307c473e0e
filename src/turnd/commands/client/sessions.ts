import { table } from "../../../kit/command-line/text.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Permission } from "./options.ts";
import { readWanted, type WantedOptions } from "./read-wanted.ts";

/** `turnd sessions`. */
export async function listSessions(context: Context, options: WantedOptions): Promise<ExitCode> {
  const { client, signal } = context;
  const sessions = await readWanted(options, (limit) => client.eachSession({ limit, signal }));
  if (context.isJson) for (const session of sessions) await context.printJson(session);
  else if (context.isQuiet) for (const session of sessions) await context.print(`${session.session_id}\n`);
  else if (sessions.length === 0) context.terminal.notice("turnd: there are no sessions");
  else {
    const rows = sessions.map((session) => [
      session.session_id,
      session.executor,
      String(session.turn_count ?? session.turns.length),
      session.running_turn === undefined ? "" : "running",
      session.created_at,
      session.workspace,
    ]);
    await context.print(`${table(["SESSION", "EXECUTOR", "TURNS", "NOW", "CREATED", "WORKSPACE"], rows)}\n`);
  }
  return EXIT.done;
}

export interface CreateSessionOptions {
  readonly executor: string;
  readonly id?: string;
  readonly workspace?: string;
  readonly deny?: readonly Permission[];
}

/** `turnd sessions create`. */
export async function createSession(context: Context, options: CreateSessionOptions): Promise<ExitCode> {
  const { executor, id, workspace, deny = [] } = options;
  const session = await context.client.createSession(
    {
      executor,
      permissions: Object.fromEntries(deny.map((name) => [name, "deny" as const])),
      ...(id === undefined ? {} : { session_id: id }),
      ...(workspace === undefined ? {} : { workspace }),
    },
    { signal: context.signal },
  );
  await (context.isJson ? context.printJson(session) : context.print(`${session.session_id}\n`));
  return EXIT.done;
}

/** `turnd sessions delete`: ends the session's turns and removes it. */
export async function deleteSession(context: Context, sessionId: string): Promise<ExitCode> {
  await context.client.deleteSession(sessionId, { signal: context.signal });
  if (!context.isJson && !context.isQuiet) await context.print(`session ${sessionId} is deleted\n`);
  return EXIT.done;
}
