/** The ids that a process printed lately. */
export interface RecentIds {
  has(id: string): boolean;
  add(id: string): void;
}

/** The CLIs' ids have some 40; one that is longer would cost more to keep than it is worth. */
const MAX_ID_CHARACTERS = 256;

/**
 * Keeps the latest ids and drops older ones: a turn of any length costs no more.
 *
 * @param atLeast - so many different ones are kept for sure, and at most twice as many
 */
export function createRecentIds(atLeast: number): RecentIds {
  let recent = new Set<string>();
  let older = new Set<string>();
  return {
    has: (id) => recent.has(id) || older.has(id),
    add(id) {
      if (id.length > MAX_ID_CHARACTERS) return;
      if (recent.size >= atLeast) [older, recent] = [recent, new Set()];
      recent.add(id);
    },
  };
}
