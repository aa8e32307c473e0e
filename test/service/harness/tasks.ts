import { pino } from "pino";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { defineTask, type AnyTaskKind, type TaskContext } from "../../../src/service/tasks/define-task.ts";
import { startTask } from "../../../src/service/tasks/start-task.ts";
import { createTaskControls } from "../../../src/service/tasks/task-controls.ts";
import { createTasks } from "../../../src/service/tasks/tasks.ts";
import { workOnTasks } from "../../../src/service/tasks/work-on-tasks.ts";
import { waitFor } from "../../harness/wait-for.ts";

/** A user who sees every task. */
export const ALL = { userId: 0, seesAll: true };
export const logger = pino({ level: "silent" });

type Context = TaskContext<{ count: number }, { done: number }>;

/** The kind `count`: the test decides what it does. */
export function countTask(
  run: (context: Context) => Promise<number>,
  more: { concurrency?: number; timeoutMs?: number } = {},
) {
  return defineTask({
    kind: "count",
    payload: z.object({ count: z.int() }),
    result: z.int(),
    checkpoint: z.object({ done: z.int() }),
    concurrency: more.concurrency ?? 4,
    timeoutMs: more.timeoutMs ?? 60_000,
    run,
  });
}

/** Takes tasks as a worker process does. */
export async function work(storage: Storage, ...kinds: AnyTaskKind[]): Promise<void> {
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  await workOnTasks({ storage, kinds, controls, logger }, { places: 4, turnMs: 5_000 });
}

/** Starts a task of three. */
export async function start(
  storage: Storage,
  kind: ReturnType<typeof countTask>,
  more: { key?: string; userId?: number } = {},
) {
  const started = await storage.transaction((trx) =>
    startTask(storage, trx, { kind, userId: null, name: "counting", payload: { count: 3 }, ...more }),
  );
  return { ...started, id: started.task.id };
}

/** A task once it has ended. */
export async function ended(storage: Storage, id: string) {
  return waitFor("the task's end", async () => {
    const task = await createTasks(storage).get(ALL, id);
    return task.completed_at === null ? undefined : task;
  });
}

/** Waits as a handler does that only its signal ends. */
export async function untilAborted(signal: AbortSignal): Promise<never> {
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => aborted.resolve());
  if (!signal.aborted) await aborted.promise;
  signal.throwIfAborted();
  throw new Error("the signal did not abort");
}
