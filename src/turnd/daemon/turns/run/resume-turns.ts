import type { Logger } from "pino";
import type { TurnTracer } from "../lifecycle/tracer.ts";
import { hasEnded, type Turn } from "../lifecycle/turn.ts";
import type { Servers } from "./servers.ts";
import { wasStarted } from "./set-aside.ts";
import { readSpan } from "./span-file.ts";
import type { TurnQueue } from "../admission/queue.ts";
import { isSteeredBy } from "../admission/steering.ts";

export interface ResumeParts {
  /** Newest first. */
  readonly turns: readonly Turn[];
  readonly queue: Pick<TurnQueue, "push">;
  readonly tracer: Pick<TurnTracer, "resumed">;
  readonly logger: Logger;
}

/** Puts every turn that an earlier daemon has left without its end back in line. */
export async function resumeTurns({ turns, queue, tracer, logger }: ResumeParts): Promise<void> {
  const unfinished = turns.toReversed().filter((turn) => !hasEnded(turn));
  const started = new Set<Turn>();
  for (const turn of unfinished) if (await hasBegun(turn)) started.add(turn);
  // What was running goes on; what had been put first in line is first again, the latest before the others.
  const rank = ({ file }: Turn, hasRun: boolean): number =>
    hasRun ? -Infinity : file.queue_policy === "steer" ? -file.order : 0;
  for (const turn of unfinished.toSorted((a, b) => rank(a, started.has(a)) - rank(b, started.has(b)) || 0)) {
    const { turn_id: turnId, session_id: sessionId } = turn.file;
    logger.info({ turnId, sessionId, wasStarted: started.has(turn) }, "turn resumed after a restart");
    queue.push(turn);
  }
  if (unfinished.length > 0) tracer.resumed(unfinished.map(({ file }) => file));
  for (const turn of started) {
    if (unfinished.some((other) => isSteeredBy(turn, other))) void turn.send({ type: "steer_requested" });
  }
}

/** Ends servers that an earlier turnd has left, but for those that do an unfinished turn. */
export async function endLeftServers(servers: Pick<Servers, "endLeft">, turns: readonly Turn[]): Promise<void> {
  const named = new Set<string>();
  for (const turn of turns.filter((one) => !hasEnded(one))) {
    const span = await readSpan(turn.directory);
    if (span !== undefined) named.add(`${turn.file.session_id} ${span.server}`);
  }
  await servers.endLeft((sessionId, number) => named.has(`${sessionId} ${number}`));
}

/** Whether something of a turn has happened already: those go on before any other begins. */
async function hasBegun({ file, directory }: Turn): Promise<boolean> {
  return file.replay === undefined ? wasStarted(directory) : file.started_at !== undefined;
}
