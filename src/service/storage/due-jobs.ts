import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { Queries } from "./transaction.ts";

export interface DueJobsOptions {
  readonly db: Queries;
  readonly schema: string;
  readonly everyMs: number;
  /** The queues that this process works on. */
  readonly queues: () => readonly string[];
  readonly onDue: (queue: string) => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * Looks now and then which queues have a job that is due: a notice may be lost, and none is sent for a job that was to wait.
 * One query for all queues of a process, so that an idle one costs little.
 *
 * @returns ends it, and waits so long for a look that is under way
 */
export function watchDueJobs({
  db,
  schema,
  everyMs,
  queues,
  onDue,
  onFault,
}: DueJobsOptions): (timeoutMs: number) => Promise<void> {
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    const { rows } = await sql<{ name: string }>`
      select queue.name from unnest(${[...queues()]}::text[]) as queue(name) where exists (
        select from ${sql.id(schema, "job")} as job
        where job.name = queue.name and job.state < 'active' and not job.blocked and job.start_after <= now())`.execute(
      db,
    );
    for (const { name } of rows) onDue(name);
  }

  const timer = setInterval(() => {
    if (queues().length === 0) return;
    looking ??= look()
      .catch(onFault)
      .finally(() => {
        looking = undefined;
      });
  }, everyMs);
  return async (timeoutMs) => {
    clearInterval(timer);
    await Promise.race([looking, delay(timeoutMs, undefined, { ref: false })]);
  };
}
