import type { Logger } from "pino";
import type { JobTurn } from "../storage/job-worker.ts";
import type { Storage } from "../storage/storage.ts";
import { claimTask, endTask, handOverTask, lockOwned, writeProgress, type TaskEnd } from "./claim.ts";
import type { AnyTaskKind } from "./define-task.ts";
import { TaskCancelled, TaskFailure, TaskOwnershipLost, TaskTurnOver } from "./failures.ts";
import type { TaskRow } from "./start-task.ts";
import type { TaskControls } from "./task-controls.ts";

export interface TaskWorkerOptions {
  readonly storage: Storage;
  readonly kinds: readonly AnyTaskKind[];
  readonly controls: TaskControls;
  readonly logger: Logger;
}

/** Works on a task until it has ended. @throws when another attempt has to go on */
export type AttemptTask = (taskId: string, signal: AbortSignal, turn: JobTurn) => Promise<void>;

/** Attempts at tasks of these kinds. How many run at once is the caller's to limit, as `workOnTasks` does. */
export function createAttempts(options: TaskWorkerOptions): AttemptTask {
  const { storage, logger } = options;
  const kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]));
  return async (taskId, signal, turn) => {
    const row = await storage.db.selectFrom("task").select("kind").where("id", "=", taskId).executeTakeFirst();
    if (row === undefined) return;
    const kind = kinds.get(row.kind);
    if (kind === undefined) {
      // Of a newer version's: the sweep makes its job again, for a worker that has the kind.
      logger.warn({ taskId, kind: row.kind }, "task kind unknown here");
      return;
    }
    await attempt(options, kind, { taskId, signal, turn });
  };
}

async function attempt(
  options: TaskWorkerOptions,
  kind: AnyTaskKind,
  { taskId, signal, turn }: { taskId: string; signal: AbortSignal; turn: JobTurn },
): Promise<void> {
  const { storage, controls } = options;
  const row = await claimTask(storage, taskId);
  if (row === undefined) return;
  const owner = { taskId, attempt: row.attempt };
  const stops = {
    cancelled: new AbortController(),
    lost: new AbortController(),
    timeout: AbortSignal.timeout(kind.timeoutMs),
    worker: signal,
  };
  const unwatch = controls.watch(taskId, () => stops.cancelled.abort(new TaskCancelled()));
  const noteLost = (error: unknown): never => {
    if (error instanceof TaskOwnershipLost) stops.lost.abort(error);
    throw error;
  };
  try {
    const result = await kind.execute({
      taskId,
      attempt: row.attempt,
      payload: row.payload,
      checkpoint: row.checkpoint ?? undefined,
      signal: AbortSignal.any([signal, stops.cancelled.signal, stops.lost.signal, stops.timeout]),
      async progress(percent, message, checkpoint) {
        const answer = await writeProgress(storage, owner, { percent, message, checkpoint }).catch(noteLost);
        if (answer.isCancelRequested) stops.cancelled.abort(new TaskCancelled());
      },
      isTurnOver: () => turn.isOver(),
      transaction: (fn) =>
        storage
          .transaction(async (trx) => {
            await lockOwned(trx, owner);
            return fn(trx);
          })
          .catch(noteLost),
    });
    // What was done before a cancel reached it is done.
    await endTask(storage, owner, { status: "success", result });
  } catch (error) {
    await settle(options, { row, kind, stops }, error);
  } finally {
    unwatch();
  }
}

interface Stops {
  readonly cancelled: AbortController;
  readonly lost: AbortController;
  readonly timeout: AbortSignal;
  readonly worker: AbortSignal;
}

/** What a handler's fault means: the task's end, nothing, or the next attempt's turn. */
async function settle(
  { storage, logger }: TaskWorkerOptions,
  { row, kind, stops }: { row: TaskRow; kind: AnyTaskKind; stops: Stops },
  fault: unknown,
): Promise<void> {
  const owner = { taskId: row.id, attempt: row.attempt };
  if (fault instanceof TaskOwnershipLost || stops.lost.signal.aborted) return;
  const end = meaningOf(fault, stops, kind);
  if (end !== undefined) {
    await endTask(storage, owner, end).catch((error: unknown) => {
      if (!(error instanceof TaskOwnershipLost)) throw error;
    });
    return;
  }
  if (stops.worker.aborted || fault instanceof TaskTurnOver) await handOverTask(storage, owner);
  else
    logger.error({ err: fault, taskId: row.id, kind: row.kind, attempt: row.attempt }, "an attempt at a task failed");
  throw fault;
}

function meaningOf(fault: unknown, stops: Stops, kind: AnyTaskKind): TaskEnd | undefined {
  if (fault instanceof TaskFailure) return { status: "failed", error: fault.error };
  if (stops.cancelled.signal.aborted) return { status: "cancelled" };
  if (stops.worker.aborted || !stops.timeout.aborted) return undefined;
  const message = `an attempt takes at most ${kind.timeoutMs} ms`;
  return { status: "failed", error: { code: "timed_out", message } };
}
