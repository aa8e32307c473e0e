import { open, readFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import PQueue from "p-queue";
import { z } from "zod";
import { syncDirectory } from "../sessions/atomic-file.ts";

/** What is remembered of a request whose session was deleted: its id is never run again (law 10). */
export const Tombstone = z.object({ request_id: z.string(), turn_id: z.string(), session_id: z.string() });
export type Tombstone = z.infer<typeof Tombstone>;

/** The requests of deleted sessions. */
export interface Tombstones {
  find(requestId: string): Tombstone | undefined;
  /** Durable when it resolves; nothing of it is left when it fails. */
  add(stones: readonly Tombstone[]): Promise<void>;
}

/** What is known of deleted sessions cannot be read: a person has to decide. */
export class TombstoneError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "TombstoneError";
  }
}

/**
 * Opens `<state>/tombstones.jsonl`; a torn last line is cut off, since its session was not removed yet.
 *
 * @throws {TombstoneError} for any other broken line: whose request it kept from running again is not known
 */
export async function openTombstones(stateDirectory: string): Promise<Tombstones> {
  const path = join(stateDirectory, "tombstones.jsonl");
  const found = await readFile(path).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return Buffer.alloc(0);
    throw error;
  });
  let size = found.lastIndexOf("\n") + 1;
  let hasRemains = size < found.length;
  const byRequest = new Map<string, Tombstone>();
  for (const [index, line] of found.toString("utf8", 0, size).split("\n").entries()) {
    if (line === "") continue;
    const stone = readStone(line, `${path}:${index + 1}`);
    byRequest.set(stone.request_id, stone);
  }
  // One after the other: what is taken back must be one's own.
  const writing = new PQueue({ concurrency: 1 });

  async function write(stones: readonly Tombstone[]): Promise<void> {
    const bytes = Buffer.from(stones.map((stone) => `${JSON.stringify(stone)}\n`).join(""));
    if (hasRemains) await truncate(path, size);
    const file = await open(path, "a", 0o600);
    hasRemains = true;
    try {
      await file.appendFile(bytes);
      await file.sync();
      if (size === 0) await syncDirectory(stateDirectory);
      size += bytes.length;
      hasRemains = false;
    } catch (error) {
      // Where even this fails, the next write does it, or the next start.
      await file.truncate(size).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
    for (const stone of stones) byRequest.set(stone.request_id, stone);
  }

  return {
    find: (requestId) => byRequest.get(requestId),
    add: (stones) => writing.add(() => write(stones)),
  };
}

function readStone(line: string, place: string): Tombstone {
  try {
    return Tombstone.parse(JSON.parse(line));
  } catch (error) {
    const what = "the request of a deleted session that stands there must not run again";
    const remedy = "restore the file from a copy, or remove the line if nobody will repeat that request";
    throw new TombstoneError(`${place} cannot be read: ${what}; ${remedy}`, error);
  }
}
