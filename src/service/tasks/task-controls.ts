import type { Logger } from "pino";
import type { Storage } from "../storage/storage.ts";

/** Asks the rows, for all attempts of this process at once, whether their tasks are to be cancelled. */
export interface TaskControls {
  /** @returns ends it */
  watch(taskId: string, onCancel: () => void): () => void;
  close(): Promise<void>;
}

const POLL_MS = 1_000;

export async function createTaskControls(storage: Storage, logger: Logger): Promise<TaskControls> {
  const watched = new Map<string, () => void>();
  let looking: Promise<void> | undefined;
  let isWanted = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const ids = [...watched.keys()];
    if (ids.length === 0) return;
    const cancelled = await storage.db
      .selectFrom("task")
      .select("id")
      .where("id", "in", ids)
      .where("cancel_requested", "=", true)
      .execute();
    for (const { id } of cancelled) watched.get(id)?.();
  }

  /** One look at a time; what is asked for meanwhile is one look more. */
  function lookSoon(): void {
    if (isClosed) return;
    if (looking !== undefined) {
      isWanted = true;
      return;
    }
    looking = look()
      .catch((error: unknown) => logger.warn({ err: error }, "cancels of tasks could not be read"))
      .finally(() => {
        looking = undefined;
        if (!isWanted) return;
        isWanted = false;
        lookSoon();
      });
  }

  const end = await storage.listen("svc_control", {
    onNotice(id) {
      if (watched.has(id)) lookSoon();
    },
    onGap: lookSoon,
  });
  const timer = setInterval(lookSoon, POLL_MS);
  timer.unref();
  return {
    watch(taskId, onCancel) {
      watched.set(taskId, onCancel);
      lookSoon();
      return () => {
        if (watched.get(taskId) === onCancel) watched.delete(taskId);
      };
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      await looking;
      await end();
    },
  };
}
