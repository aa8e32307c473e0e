import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Logger } from "pino";
import { ProblemError } from "../../../protocol/index.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { SecretBook } from "./secret-book.ts";
import type { StateReserve } from "./reserve.ts";
import { isFull } from "../../storage/storage-error.ts";
import type { Tombstone, Tombstones } from "./tombstones.ts";
import { findRequestId } from "./turn-directory.ts";
import type { TurnStore } from "./turn-store.ts";

/** Removes sessions so that none of their requests runs again (law: at most once), on a full disk too. */
export interface Removal {
  /**
   * Removes a session whose turns have ended.
   *
   * Resolves when it is gone for good. From the first step, a rename that needs no room, it is: the turns' own
   * `turn.json` show a later daemon their requests until the tombstones do.
   * @throws {ProblemError} storage_full when not even that can be written; nothing has changed then
   */
  remove(sessionId: string): Promise<void>;
  /** Goes on with what an earlier daemon had begun. Never throws. */
  finishAll(): Promise<void>;
}

export interface RemovalParts {
  readonly sessions: SessionStore;
  readonly secrets: Pick<SecretBook, "forgetSession">;
  readonly logger: Logger;
  readonly store: TurnStore;
  readonly tombstones: Tombstones;
  readonly reserve: StateReserve;
}

export function createRemoval({ sessions, secrets, logger, store, tombstones, reserve }: RemovalParts): Removal {
  /** @returns whether a later daemon knows the requests without the directory */
  async function bury(directory: string, stones: readonly Tombstone[]): Promise<boolean> {
    tombstones.remember(stones);
    const add = (): Promise<void> => reserve.withRoom(() => tombstones.add(stones));
    try {
      await add().catch(async (error: unknown) => {
        if (!isFull(error)) throw error;
        await sessions.freeRemoved(directory);
        await add();
      });
      return true;
    } catch (error) {
      logger.error(
        { path: directory, err: error },
        "tombstones cannot be written: what is left of the session is kept",
      );
      return false;
    }
  }

  return {
    async remove(sessionId) {
      const stones = stonesOf(store, sessionId);
      let directory: string;
      try {
        directory = await reserve.withRoom(() => sessions.detach(sessionId));
      } catch (error) {
        logger.error({ sessionId, err: error }, "session cannot be deleted");
        const why = error instanceof Error ? error.message : String(error);
        throw new ProblemError("storage_full", `session ${sessionId} cannot be deleted: ${why}`);
      }
      store.forgetSession(sessionId);
      secrets.forgetSession(sessionId);
      if (await bury(directory, stones)) await sessions.discardRemoved(directory);
      // Whatever keeps its record: its files are to make room.
      else await sessions.freeRemoved(directory);
      await reserve.refill();
    },
    async finishAll() {
      for (const directory of sessions.removed()) {
        try {
          if (await bury(directory, await readStones(directory))) sessions.discardLater(directory);
        } catch (error) {
          logger.error({ path: directory, err: error }, "requests of a deleted session cannot be read: it is kept");
        }
      }
      await reserve.refill();
    },
  };
}

function stonesOf(store: TurnStore, sessionId: string): Tombstone[] {
  return store
    .requestsOf(sessionId)
    .flatMap(({ request_id, turn_id, session_id }) =>
      request_id === undefined ? [] : [{ request_id, turn_id, session_id }],
    );
}

/**
 * The requests of a session that was being removed, from what is left of its turns.
 *
 * @throws the system's error where the disk does not show which turns there are: another start may know
 */
async function readStones(directory: string): Promise<Tombstone[]> {
  const turns = join(directory, "turns");
  const names = await readdir(turns).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  });
  const sessionId = basename(directory).replace(/~.*/, "");
  const stones = await Promise.all(
    names.map(async (name) => {
      const requestId = await findRequestId(join(turns, name));
      return requestId === undefined ? [] : [{ request_id: requestId, turn_id: name, session_id: sessionId }];
    }),
  );
  return stones.flat();
}
