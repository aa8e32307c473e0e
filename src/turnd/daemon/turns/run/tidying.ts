import { tidyHome, type TidyParts } from "./prepare.ts";
import type { Turn } from "../lifecycle/turn.ts";

/** Removes what ended turns leave in their sessions' homes: after their ends, one at a time in a home. */
export interface Tidying {
  /** Begins to remove what a turn has left. Returns at once. */
  begin(turn: Turn, options: { readonly hasHome: boolean }): void;
  /** Resolves when a session's home is tidy: what changes the home itself waits for this. */
  settled(sessionId: string): Promise<void>;
  /** Resolves when every home is. */
  allSettled(): Promise<void>;
}

/** Makes the tidying of a daemon. */
export function createTidying(parts: TidyParts): Tidying {
  const underWay = new Map<string, Promise<void>>();
  const settled = async (sessionId: string): Promise<void> => underWay.get(sessionId);

  async function tidy(before: Promise<void>, turn: Turn, options: { readonly hasHome: boolean }): Promise<void> {
    await before;
    const logger = parts.logger.child({ sessionId: turn.file.session_id });
    await tidyHome({ ...parts, logger }, turn, options);
  }

  return {
    begin(turn, options) {
      const { session_id: sessionId } = turn.file;
      const mine = tidy(settled(sessionId), turn, options).finally(() => {
        if (underWay.get(sessionId) === mine) underWay.delete(sessionId);
      });
      underWay.set(sessionId, mine);
    },
    settled,
    async allSettled() {
      await Promise.all(underWay.values());
    },
  };
}
