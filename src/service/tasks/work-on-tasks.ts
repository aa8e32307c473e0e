import { createAttempts, type TaskWorkerOptions } from "./attempt-task.ts";

/** Tasks of a kind that one user has running at once in one process. */
const OF_USER = 1;

/**
 * Takes tasks from now on, as one process.
 *
 * A kind takes at most its own `concurrency`, and leaves one place free: a long row of its tasks delays no other kind. A
 * job of a kind that is full stays in the queue, for another process or a later moment. With one place all kinds share it.
 * Of a kind a user has one place, and users take turns: whoever starts a hundred tasks delays another's by one. A task that
 * has had its place for `turnMs` hands it over between two steps while another user's waits for one.
 *
 * @param places - of all kinds together, in this process: each process of a cluster has as many
 */
export async function workOnTasks(
  options: TaskWorkerOptions,
  { places, turnMs }: { readonly places: number; readonly turnMs: number },
): Promise<void> {
  const limits = new Map(
    options.kinds.map(({ kind, concurrency }) => [kind, Math.min(concurrency, Math.max(1, places - 1))] as const),
  );
  const limitOf = (group: string): number => (group.includes("/") ? OF_USER : (limits.get(group) ?? Infinity));
  await options.storage.jobs.work("task", places, createAttempts(options), { groupLimit: limitOf, turnMs });
}
