import type { TurnRow } from "../../state-index/rows.ts";
import type { StateIndex, TurnPage, TurnPlace } from "../../state-index/state-index.ts";
import type { ListedTurn, Turn } from "../lifecycle/turn.ts";

export interface PageSources {
  readonly index: Pick<StateIndex, "pageTurns">;
  /** Turns that are in memory; the index may not have them as they are. */
  readonly live: () => Iterable<Turn>;
  /** What a list shows of a row; undefined for a turn that is being admitted, or is to be read again. */
  readonly toListed: (row: TurnRow) => ListedTurn | undefined;
}

/** Some turns, and the place that the next page goes on behind; none behind the last. */
export interface FoundPage {
  readonly turns: ListedTurn[];
  readonly next?: TurnPlace;
}

/** Rows that one page looks at, each a few looks at the disk: where everything was changed, none is shown before it has been read. */
const MAX_ROWS = 2_000;

/** A page of turns, the newest first. Rows that are not shown cut it short at most where there are very many of them. */
export function readPage({ index, live, toListed }: PageSources, page: TurnPage): FoundPage {
  const wanted = page.limit + 1;
  const found: ListedTurn[] = [];
  let end = page.before;
  let isWhole = false;
  for (let rows = 0; found.length < wanted && rows < MAX_ROWS && !isWhole;) {
    const some = index.pageTurns({ ...page, before: end, limit: wanted });
    const last = some.at(-1);
    if (last !== undefined) end = { place: last.place, turnId: last.turn_id };
    rows += some.length;
    isWhole = some.length < wanted;
    found.push(...some.flatMap((row) => toListed(row) ?? []));
  }
  if (page.status !== undefined) {
    // Behind the last row that was looked at they are the next page's.
    found.push(...ofPage(live(), page).filter((turn) => isWhole || end === undefined || !isBehind(turn, end)));
  }
  const turns = newestFirst(found).slice(0, page.limit);
  const shown = turns.at(-1)?.file;
  if (found.length > page.limit && shown !== undefined) {
    return { turns, next: { place: shown.order, turnId: shown.turn_id } };
  }
  return isWhole || end === undefined ? { turns } : { turns, next: end };
}

function ofPage(turns: Iterable<Turn>, { before, sessionId, status }: TurnPage): Turn[] {
  return [...turns].filter(
    (turn) =>
      turn.status === status &&
      (before === undefined || isBehind(turn, before)) &&
      (sessionId === undefined || turn.file.session_id === sessionId),
  );
}

function isBehind({ file }: ListedTurn, { place, turnId }: TurnPlace): boolean {
  return file.order < place || (file.order === place && file.turn_id < turnId);
}

/** In the order of lists. */
export function newestFirst<T extends Pick<Turn, "file">>(turns: Iterable<T>): T[] {
  return [...turns].toSorted((a, b) => b.file.order - a.file.order || (a.file.turn_id < b.file.turn_id ? 1 : -1));
}
