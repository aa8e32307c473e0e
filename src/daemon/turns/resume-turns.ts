import type { Logger } from "pino";
import { hasEnded, type Turn } from "./lifecycle/turn.ts";
import { wasStarted } from "./run/set-aside.ts";
import type { TurnQueue } from "./scheduling/queue.ts";
import { isSteeredBy } from "./scheduling/steering.ts";
import type { TurnStore } from "./store/turn-store.ts";

export interface ResumeParts {
  readonly store: Pick<TurnStore, "list">;
  readonly queue: Pick<TurnQueue, "push">;
  readonly logger: Logger;
}

/** Puts every turn that an earlier daemon has left without its end back in line. */
export async function resumeTurns({ store, queue, logger }: ResumeParts): Promise<void> {
  const unfinished = store
    .list()
    .toReversed()
    .filter((turn) => !hasEnded(turn));
  const started = new Set<Turn>();
  for (const turn of unfinished) if (await hasBegun(turn)) started.add(turn);
  // What was running goes on; what had been put first in line is first again, the latest before the others.
  const rank = ({ file }: Turn, hasRun: boolean): number =>
    hasRun ? -Infinity : file.queue_policy === "steer" ? -file.order : 0;
  for (const turn of unfinished.toSorted((a, b) => rank(a, started.has(a)) - rank(b, started.has(b)) || 0)) {
    logger.info({ turnId: turn.file.turn_id, wasStarted: started.has(turn) }, "turn resumed after a restart");
    queue.push(turn);
  }
  for (const turn of started) {
    if (unfinished.some((other) => isSteeredBy(turn, other))) void turn.send({ type: "steer_requested" });
  }
}

/** Whether something of a turn has happened already: those go on before any other begins. */
async function hasBegun({ file, directory }: Turn): Promise<boolean> {
  return file.replay === undefined ? wasStarted(directory) : file.started_at !== undefined;
}
