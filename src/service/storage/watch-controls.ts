import type { Logger } from "pino";
import type { Storage } from "./storage.ts";

/** What is asked of rows that this process works on: one query a second for all of them, and one at each notice. */
export interface ControlWatch<Listener> {
  /** @returns ends it */
  watch(id: string, listener: Listener): () => void;
  close(): Promise<void>;
}

const POLL_MS = 1_000;

/**
 * Looks at rows for as long as they are watched. What is found may be delivered again. Law: the row is the truth.
 *
 * @param look - asks the rows of these ids, and calls their listeners
 */
export async function watchControls<Listener>(
  storage: Storage,
  logger: Logger,
  look: (watched: ReadonlyMap<string, Listener>) => Promise<void>,
): Promise<ControlWatch<Listener>> {
  const watched = new Map<string, Listener>();
  let looking: Promise<void> | undefined;
  let isWanted = false;
  let isClosed = false;

  /** One look at a time; what is asked for meanwhile is one look more. */
  function lookSoon(): void {
    if (isClosed || watched.size === 0) return;
    if (looking !== undefined) {
      isWanted = true;
      return;
    }
    looking = look(watched)
      .catch((error: unknown) => logger.warn({ err: error }, "controls could not be read"))
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
    watch(id, listener) {
      watched.set(id, listener);
      lookSoon();
      return () => {
        if (watched.get(id) === listener) watched.delete(id);
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
