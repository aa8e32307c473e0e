import { sql } from "kysely";
import type { Logger } from "pino";
import { ProblemError } from "../../../turnd/protocol/index.ts";
import type { TurndClient } from "../../../turnd/client/turnd-client.ts";
import type { RunObserver } from "../state/observer.ts";
import type { RunRow } from "../state/rows.ts";
import type { Sandboxes } from "../../sandboxes/sandboxes.ts";
import type { Storage } from "../../storage/storage.ts";
import { accountLate, usageOfTurn, type StoredUsage } from "../state/usage.ts";

export interface LeftTurnOptions {
  readonly storage: Storage;
  readonly sandboxes: Sandboxes;
  readonly logger: Logger;
  readonly observer?: RunObserver | undefined;
}

/** A turnd that has not been reached for so long is not asked any more. */
const GIVEN_UP_AFTER = "1 day";
const GONE = new Set(["turn_not_found", "request_not_found", "session_not_found"]);

/**
 * Ends the turn of a run that was over before its turn: a run that has failed must not go on working. What the turn has used
 * is added to its user's day.
 *
 * @throws when turnd could not be asked: the queue gives the job again later
 */
export async function endLeftTurn(
  { storage, sandboxes, logger, observer }: LeftTurnOptions,
  runId: string,
  signal: AbortSignal,
): Promise<void> {
  const run = await storage.db
    .selectFrom("run")
    .innerJoin("thread", "thread.pk", "run.thread_pk")
    .innerJoin("run_request", "run_request.pk", "run.request_pk")
    .selectAll("run")
    .select("run_request.api_key_id")
    .select(["thread.session_id", "thread.sandbox_id as thread_sandbox_id"])
    .select(sql<boolean>`turn_left_at < now() - ${GIVEN_UP_AFTER}::interval`.as("is_given_up"))
    .where("run.id", "=", runId)
    .where("turn_left_at", "is not", null)
    .executeTakeFirst();
  if (run === undefined) return;
  let usage: StoredUsage | undefined;
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
    usage = await endTurn(client, run, signal);
  }
  await storage.transaction(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable("run")
      .set({ turn_left_at: null })
      .where("id", "=", runId)
      .where("turn_left_at", "is not", null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n || usage === undefined) return;
    const used = usage;
    await accountLate(trx, run, run.api_key_id, used);
    storage.afterCommit(() => observer?.tokensUsed(used));
  });
}

/** @returns what it has used, where turnd has that */
async function endTurn(
  client: TurndClient,
  { turn_id: known, turn_request_id: requestId }: Pick<RunRow, "turn_id" | "turn_request_id">,
  signal: AbortSignal,
): Promise<StoredUsage | undefined> {
  try {
    const turnId = known ?? (await client.turnOfRequest(requestId ?? "", { signal }))?.turn_id;
    if (turnId === undefined) return undefined;
    await client.cancel(turnId, { signal });
    return usageOfTurn(await client.result(turnId, { signal }));
  } catch (error) {
    if (!(error instanceof ProblemError) || !GONE.has(error.code)) throw error;
    return undefined;
  }
}
