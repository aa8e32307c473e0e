import type { Logger } from "pino";
import type { Storage } from "./storage.ts";

/** What is asked of rows that this process works on: one query a second for all of them, and one at each notice. */
export interface ControlWatch<Told> {
  /** @returns ends it */
  watch(id: string, told: Told): () => void;
  close(): Promise<void>;
}

const POLL_MS = 1_000;

/**
 * Looks at rows for as long as they are watched. What is found may be told again (law 1).
 *
 * @param look - asks the rows of these ids, and tells whoever watches them
 */
export async function watchControls<Told>(
  storage: Storage,
  logger: Logger,
  look: (watched: ReadonlyMap<string, Told>) => Promise<void>,
): Promise<ControlWatch<Told>> {
  const watched = new Map<string, Told>();
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
    watch(id, told) {
      watched.set(id, told);
      lookSoon();
      return () => {
        if (watched.get(id) === told) watched.delete(id);
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
