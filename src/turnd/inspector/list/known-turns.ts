import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnList } from "../../protocol/responses.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";

/** The turns that this page has been given, newest first, without a gap from the newest on. */
export interface KnownTurns {
  readonly turns: readonly Tolerant<TurnSnapshot>[];
  /** Leads to those that follow; undefined where there are none. */
  readonly cursor: string | undefined;
}

export const NO_TURNS: KnownTurns = { turns: [], cursor: undefined };

/**
 * Merges the newest turns. Older ones stay; one as new that is missing was deleted.
 */
export function mergeNewest(known: KnownTurns, { turns, next_cursor: cursor }: Tolerant<TurnList>): KnownTurns {
  const oldest = turns.at(-1);
  const newest = new Map(turns.map((turn) => [turn.turn_id, turn]));
  const before = new Map(known.turns.map((turn) => [turn.turn_id, turn]));
  const page = turns.map((turn) => sameOrNewer(before.get(turn.turn_id), turn));
  const isConnected = known.turns.some(({ turn_id: id }) => newest.has(id));
  // Without a turn that both have, there may be others in between.
  if (oldest === undefined || cursor === undefined || !isConnected) return { turns: page, cursor };
  const older = known.turns.filter(
    ({ turn_id: id, created_at: createdAt }) => !newest.has(id) && createdAt <= oldest.created_at,
  );
  return { turns: [...page, ...older], cursor: older.length === 0 ? cursor : known.cursor };
}

/** Adds the next page. */
export function addOlder(known: KnownTurns, { turns, next_cursor: cursor }: Tolerant<TurnList>): KnownTurns {
  const ids = new Set(known.turns.map(({ turn_id: id }) => id));
  return { turns: [...known.turns, ...turns.filter(({ turn_id: id }) => !ids.has(id))], cursor };
}

/** Updates one turn; undefined: it was deleted. */
export function updateOne(known: KnownTurns, id: string, now: Tolerant<TurnSnapshot> | undefined): KnownTurns {
  const turns = known.turns.flatMap((turn) => (turn.turn_id !== id ? [turn] : now === undefined ? [] : [now]));
  return { ...known, turns };
}

/** An ended turn does not change: the object stays the one whose row is shown. */
function sameOrNewer(before: Tolerant<TurnSnapshot> | undefined, now: Tolerant<TurnSnapshot>): Tolerant<TurnSnapshot> {
  return before?.ended_at !== undefined && before.status === now.status ? before : now;
}
