import { sql } from "kysely";
import { ProblemError } from "../../protocol/index.ts";
import type { TurndClient } from "../../client/turnd-client.ts";
import type { AttemptOptions } from "./attempt-context.ts";
import type { RunRow } from "./rows.ts";

/** A turnd that has not been reached for so long is not asked any more. */
const GIVEN_UP_AFTER = "1 day";
const GONE = new Set(["turn_not_found", "request_not_found", "session_not_found"]);

/**
 * Ends the turn of a run that was over before its turn: a run that has failed must not go on working.
 *
 * @throws when turnd could not be asked: the queue gives the job again later
 */
export async function endLeftTurn(
  { storage, sandboxes, logger }: Pick<AttemptOptions, "storage" | "sandboxes" | "logger">,
  runId: string,
  signal: AbortSignal,
): Promise<void> {
  const run = await storage.db
    .selectFrom("run")
    .innerJoin("thread", "thread.pk", "run.thread_pk")
    .selectAll("run")
    .select(["thread.session_id", "thread.sandbox_id as thread_sandbox_id"])
    .select(sql<boolean>`turn_left_at < now() - ${GIVEN_UP_AFTER}::interval`.as("is_given_up"))
    .where("run.id", "=", runId)
    .where("turn_left_at", "is not", null)
    .executeTakeFirst();
  if (run === undefined) return;
  if (run.is_given_up) {
    logger.warn(
      { runId, turnId: run.turn_id },
      "the turn of a failed run could not be ended: its turnd did not answer",
    );
  } else {
    const scope = {
      threadPk: run.thread_pk,
      sessionId: run.session_id,
      userId: run.user_id,
      sandboxId: run.thread_sandbox_id,
    };
    const { client } = await sandboxes.acquire(scope, signal);
    await endTurn(client, run, signal);
  }
  await storage.db.updateTable("run").set({ turn_left_at: null }).where("id", "=", runId).execute();
}

async function endTurn(
  client: TurndClient,
  { turn_id: known, turn_request_id: requestId }: RunRow,
  signal: AbortSignal,
): Promise<void> {
  try {
    const turnId = known ?? (await client.turnOfRequest(requestId ?? "", { signal }))?.turn_id;
    if (turnId !== undefined) await client.cancel(turnId, { signal });
  } catch (error) {
    if (!(error instanceof ProblemError) || !GONE.has(error.code)) throw error;
  }
}
