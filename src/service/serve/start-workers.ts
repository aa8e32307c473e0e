import type { Metrics } from "../http/metrics.ts";
import { attemptRun } from "../runs/work/attempt.ts";
import type { AttemptOptions } from "../runs/work/attempt-context.ts";
import type { Controls } from "../runs/control/controls.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { defineThreadDeletion, ensureThreadDeletions } from "../runs/control/delete-thread.ts";
import type { FinishOptions } from "../runs/state/finish.ts";
import type { ToolServers } from "../runs/work/turn-body.ts";
import { endLeftTurn } from "../runs/work/left-turn.ts";
import { deleteExpiredEvents, ensureRunJobs } from "../runs/sweep.ts";
import { deleteSilentWorkers } from "../runs/workers.ts";
import { deleteExpiredLogins } from "../auth/sweep.ts";
import type { Sandboxes } from "../sandboxes/sandboxes.ts";
import type { ServiceOptions } from "./service-options.ts";
import type { Settings } from "../settings/settings.ts";
import type { Storage } from "../storage/storage.ts";
import type { AnyTaskKind } from "../tasks/define-task.ts";
import { deleteExpiredTasks, ensureTaskJobs } from "../tasks/sweep.ts";
import type { TaskControls } from "../tasks/task-controls.ts";
import { workOnTasks } from "../tasks/work-on-tasks.ts";
import { deliver, ensureDeliveryJobs } from "../webhooks/deliver.ts";

/** Deliveries of one process: each mostly waits for its receiver. */
const WEBHOOKS_AT_ONCE = 8;
/** Of one user: receivers that do not answer must leave places to others. */
const WEBHOOKS_OF_USER = 2;
/** Turns of runs that are over, which are ended at turnd. */
const LEFT_TURNS_AT_ONCE = 4;
const PGLITE_RUNS = 16;
const POSTGRES_RUNS = 64;

export interface WorkerWiring {
  readonly storage: Storage;
  /** This process's name among the workers. */
  readonly worker: string;
  readonly metrics: Metrics;
  readonly knowledge: Knowledge;
  readonly sandboxes: Sandboxes;
  readonly controls: Controls;
  readonly taskControls: TaskControls;
  readonly finishing: FinishOptions;
  readonly outbound: Outbound;
  readonly keySecret: string;
  readonly toolServers: ToolServers;
}

/** Takes jobs of every queue from now on. */
export async function startWorkers(
  { settings, logger, onStep, onDeletionStep }: ServiceOptions,
  wiring: WorkerWiring,
): Promise<void> {
  const { values } = settings;
  const { storage, worker, knowledge, sandboxes, controls, finishing, outbound, keySecret, toolServers } = wiring;
  const { observer } = wiring.metrics;
  const attempts: AttemptOptions = {
    storage,
    worker,
    sandboxes,
    controls,
    finishing,
    toolServers,
    logger,
    observer,
    leaseMs: values.SERVICE_LEASE_MS,
    executorLostMs: values.SERVICE_EXECUTOR_LOST_MS,
    onStep,
  };
  await storage.jobs.work("run", runConcurrency(settings), (id, signal) => attemptRun(attempts, id, signal));
  await storage.jobs.work("turn", LEFT_TURNS_AT_ONCE, (id, signal) =>
    endLeftTurn({ storage, sandboxes, logger, observer }, id, signal),
  );
  const kinds: readonly AnyTaskKind[] = [
    defineThreadDeletion({ storage, sandboxes, onStep: onDeletionStep }),
    ...knowledge.taskKinds(),
  ];
  await workOnTasks(
    { storage, kinds, controls: wiring.taskControls, logger },
    { places: values.SERVICE_TASK_CONCURRENCY, turnMs: values.SERVICE_TASK_TURN_MS },
  );
  const delivering = (id: string, signal: AbortSignal) => deliver({ storage, outbound, keySecret, logger }, id, signal);
  await storage.jobs.work("webhook", WEBHOOKS_AT_ONCE, delivering, { groupLimit: () => WEBHOOKS_OF_USER });
  await storage.jobs.work("sweep", 1, async () => {
    await deleteExpiredEvents(storage);
    await deleteExpiredLogins(storage);
    await deleteSilentWorkers(storage);
    await ensureRunJobs(storage);
    await deleteExpiredTasks(storage, values.SERVICE_TASKS_RETENTION_MS);
    await ensureTaskJobs(storage);
    await ensureThreadDeletions(storage);
    await ensureDeliveryJobs(storage);
    await knowledge.sweep();
    // Last, and by itself: an engine that is away keeps nothing else from being swept.
    await sandboxes.sweep().catch((error: unknown) => logger.warn({ err: error }, "sandboxes were not swept"));
  });
}

/** How many runs a process works on at once. */
export function runConcurrency({ values }: Settings): number {
  if (values.SERVICE_RUN_CONCURRENCY > 0) return values.SERVICE_RUN_CONCURRENCY;
  return values.DATABASE_URL === undefined ? PGLITE_RUNS : POSTGRES_RUNS;
}
