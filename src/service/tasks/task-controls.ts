import type { Logger } from "pino";
import type { Storage } from "../storage/storage.ts";
import { watchControls, type ControlWatch } from "../storage/watch-controls.ts";

/** Asks the rows, for all attempts of this process at once, whether their tasks are to be cancelled. */
export type TaskControls = ControlWatch<() => void>;

export async function createTaskControls(storage: Storage, logger: Logger): Promise<TaskControls> {
  return watchControls<() => void>(storage, logger, async (watched) => {
    const cancelled = await storage.db
      .selectFrom("task")
      .select("id")
      .where("id", "in", [...watched.keys()])
      .where("cancel_requested", "=", true)
      .execute();
    for (const { id } of cancelled) watched.get(id)?.();
  });
}
