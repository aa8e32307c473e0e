import { lstat, open, truncate } from "node:fs/promises";
import { join } from "node:path";
import PQueue from "p-queue";
import { z } from "zod";
import { keyOf } from "../../state-index/file-key.ts";
import { createMemoryIndex, type StateIndex } from "../../state-index/state-index.ts";
import { syncDirectory } from "../../storage/atomic-file.ts";
import { readRegular } from "../../storage/read-regular.ts";

/** What is kept of a request whose session was deleted: its id is never run again. Law: at most once. */
export const Tombstone = z.object({ request_id: z.string(), turn_id: z.string(), session_id: z.string() });
export type Tombstone = z.infer<typeof Tombstone>;

/** The requests of deleted sessions. */
export interface Tombstones {
  find(requestId: string): Tombstone | undefined;
  /** At once, and for as long as this daemon lives: something else on the disk shows it to the next one. */
  remember(stones: readonly Tombstone[]): void;
  /** Durable when it resolves; nothing of it is left on the disk when it fails. */
  add(stones: readonly Tombstone[]): Promise<void>;
  /** Why not every request of a deleted session is known, and what a person can do; undefined when all are. */
  fault(): string | undefined;
}

/**
 * Opens `<state>/tombstones.jsonl`; a torn last line is cut off, since its session was not removed yet.
 *
 * Never throws: a line that is broken otherwise is kept, and reported as the fault where it does not even show its request.
 */
export async function openTombstones(
  stateDirectory: string,
  index: Pick<StateIndex, "stone" | "stonesKey" | "putStones" | "replaceStones"> = createMemoryIndex(),
): Promise<Tombstones> {
  const path = join(stateDirectory, "tombstones.jsonl");
  const faults: string[] = [];
  let [size, hasRemains] = [0, false];
  let fault: string | undefined;
  // Read only where it is not as the index knows it: every start would take longer than the one before.
  if (index.stonesKey() === keyOf([path])) size = await sizeOf(path);
  else {
    const read = await readIfThere(path);
    fault = read.fault;
    if (fault !== undefined) faults.push(fault);
    size = read.bytes.lastIndexOf("\n") + 1;
    hasRemains = size < read.bytes.length;
    const stones: Tombstone[] = [];
    for (const [at, line] of read.bytes.toString("utf8", 0, size).split("\n").entries()) {
      if (line === "") continue;
      const stone = readStone(line);
      if (stone === undefined) faults.push(describeFault(`${path}:${at + 1}`, "it is no tombstone"));
      else stones.push(stone);
    }
    index.replaceStones(stones, keyNow());
  }
  /** Of those that are not written yet. */
  const remembered = new Map<string, Tombstone>();
  /** What recognises the file; another one where it is to be read again by every start. */
  function keyNow(): string {
    return hasRemains || faults.length > 0 ? "" : keyOf([path]);
  }
  // One after the other: what is taken back must be one's own.
  const writing = new PQueue({ concurrency: 1 });

  async function write(stones: readonly Tombstone[]): Promise<void> {
    const missing = stones.filter((stone) => index.stone(stone.request_id) === undefined);
    if (missing.length === 0) return;
    const lines = Buffer.from(missing.map((stone) => `${JSON.stringify(stone)}\n`).join(""));
    if (hasRemains) await truncate(path, size);
    // For reading too: a pipe in its place would be waited for otherwise.
    const file = await open(path, "a+", 0o600);
    hasRemains = true;
    try {
      await file.appendFile(lines);
      await file.sync();
      if (size === 0) await syncDirectory(stateDirectory);
      size += lines.length;
      hasRemains = false;
    } catch (error) {
      // Where even this fails, the next write does it, or the next start.
      await file.truncate(size).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
    index.putStones(missing, keyNow());
    for (const stone of missing) remembered.delete(stone.request_id);
  }
  function remember(stones: readonly Tombstone[]): void {
    for (const stone of stones) remembered.set(stone.request_id, stone);
  }

  return {
    find: (requestId) => remembered.get(requestId) ?? index.stone(requestId),
    remember,
    async add(stones) {
      if (fault !== undefined) throw new Error(fault);
      await writing.add(() => write(stones));
    },
    fault: () => (faults.length > 1 ? `${faults[0]} (and ${faults.length - 1} more)` : faults[0]),
  };
}

async function readIfThere(path: string): Promise<{ readonly bytes: Buffer; readonly fault?: string }> {
  try {
    return { bytes: await readRegular(path) };
  } catch (error) {
    const bytes = Buffer.alloc(0);
    // A link to nowhere has been made by someone; nothing at all is there before the first deletion.
    if (await isFree(path)) return { bytes };
    return { bytes, fault: describeFault(path, error instanceof Error ? error.message : String(error)) };
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await lstat(path).catch(() => undefined))?.size ?? 0;
}

async function isFree(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT",
  );
}

/** What stands in a line; of a broken one, what shows whose request it is. */
function readStone(line: string): Tombstone | undefined {
  try {
    const parsed = Tombstone.safeParse(JSON.parse(line));
    if (parsed.success) return parsed.data;
  } catch {
    // No JSON: its parts may be there all the same.
  }
  const part = (name: string): string | undefined => new RegExp(`"${name}":"([^"]+)"`).exec(line)?.[1];
  const requestId = part("request_id");
  // Two in one line: which of them is whole is not known.
  if (requestId === undefined || line.split("request_id").length > 2) return undefined;
  return { request_id: requestId, turn_id: part("turn_id") ?? "", session_id: part("session_id") ?? "" };
}

function describeFault(place: string, why: string): string {
  const what = "the requests of deleted sessions that stand there must not run again";
  return `${place} cannot be read (${why}): ${what}; restore it from a copy, or remove it if no client will repeat them, and start turnd again`;
}
