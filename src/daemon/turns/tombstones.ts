import { open, readFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** What is remembered of a request whose session was deleted: its id is never run again (law 10). */
export const Tombstone = z.object({ request_id: z.string(), turn_id: z.string(), session_id: z.string() });
export type Tombstone = z.infer<typeof Tombstone>;

/** The requests of deleted sessions. */
export interface Tombstones {
  find(requestId: string): Tombstone | undefined;
  /** Durable when it resolves. */
  add(stones: readonly Tombstone[]): Promise<void>;
}

/** Opens `<state>/tombstones.jsonl`; a torn last line is cut off, since its session was not removed yet. */
export async function openTombstones(stateDirectory: string): Promise<Tombstones> {
  const path = join(stateDirectory, "tombstones.jsonl");
  const byRequest = new Map<string, Tombstone>();
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  });
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole.length < text.length) await truncate(path, Buffer.byteLength(whole));
  for (const line of whole.split("\n")) {
    if (line === "") continue;
    const stone = Tombstone.parse(JSON.parse(line));
    byRequest.set(stone.request_id, stone);
  }

  return {
    find: (requestId) => byRequest.get(requestId),
    async add(stones) {
      const file = await open(path, "a", 0o600);
      try {
        await file.appendFile(stones.map((stone) => `${JSON.stringify(stone)}\n`).join(""));
        await file.sync();
      } finally {
        await file.close();
      }
      for (const stone of stones) byRequest.set(stone.request_id, stone);
    },
  };
}
