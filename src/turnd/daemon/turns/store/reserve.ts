import { rm, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isFull, isStorageError } from "../../storage/storage-error.ts";

const FILE = "reserve";
/** Room given free for a turn's last event and its answer: a disk filled by the turn must not keep its end from being logged. */
const TURN_BYTES = 262_144;
/** Room for a deletion: a new entry of a directory, and the tombstones of thousands of requests. */
const STATE_BYTES = 1_048_576;

/** Takes the room for a turn's last event. @returns false where there is none left already */
export function takeReserve(directory: string): Promise<boolean> {
  return allocate(directory, TURN_BYTES);
}

/** Gives that room free; a file system that has become read-only has none to give. */
export async function releaseReserve(directory: string): Promise<void> {
  const path = join(directory, FILE);
  // One step for what nearly always stands there, where rm takes five.
  await unlink(path)
    .catch(() => rm(path, { force: true, recursive: true }))
    .catch((error: unknown) => {
      if (!isStorageError(error)) throw error;
    });
}

/** Room on the state's disk that is kept for deleting sessions. */
export interface StateReserve {
  /** Takes what there is no more of; where there is no room for it, the next call tries again. */
  refill(): Promise<void>;
  /** Does some work once more with that room, where it fails because the disk is full. */
  withRoom<T>(work: () => Promise<T>): Promise<T>;
}

/** Makes the reserve of a state directory; nothing is taken yet. */
export function createStateReserve(stateDirectory: string): StateReserve {
  return {
    async refill() {
      const has = await stat(join(stateDirectory, FILE)).catch(() => undefined);
      if (has?.size !== STATE_BYTES) await allocate(stateDirectory, STATE_BYTES);
    },
    async withRoom(work) {
      try {
        return await work();
      } catch (error) {
        if (!isFull(error)) throw error;
        await releaseReserve(stateDirectory);
        return work();
      }
    },
  };
}

async function allocate(directory: string, bytes: number): Promise<boolean> {
  try {
    // Whatever stands there is not written through: a link, or a pipe that would wait for its reader.
    await create(directory, bytes).catch(async (error: unknown) => {
      if (!isTaken(error)) throw error;
      await releaseReserve(directory);
      await create(directory, bytes);
    });
    return true;
  } catch (error) {
    if (!isStorageError(error)) throw error;
    await releaseReserve(directory);
    return false;
  }
}

function create(directory: string, bytes: number): Promise<void> {
  return writeFile(join(directory, FILE), Buffer.alloc(bytes), { mode: 0o600, flag: "wx" });
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}
