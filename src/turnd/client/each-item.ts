import { TurndProtocolError } from "./errors.ts";

/** A page of a list, and what the next one is read with. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

/**
 * All items of a list, one after the other. A page is asked for when the one before has been read, so leaving the
 * loop ends the reading.
 *
 * @throws what reading a page throws; {@link TurndProtocolError} for a page that leads to itself
 */
export async function* eachItem<T>(read: (cursor: string | undefined) => Promise<Page<T>>): AsyncGenerator<T, void> {
  for (let cursor: string | undefined; ;) {
    const { items, next } = await read(cursor);
    yield* items;
    if (next === undefined) return;
    if (next === cursor) throw new TurndProtocolError(`a page of a list leads to itself: ${JSON.stringify(next)}`);
    cursor = next;
  }
}
