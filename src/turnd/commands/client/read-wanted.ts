/** How many items of a list are wanted. */
export interface WantedOptions {
  readonly limit: number;
  /** All of them. */
  readonly all?: true;
}

/** The largest page. */
const MAX_PAGE = 1_000;

/** Reads as many items of a list as are wanted. @param list - makes the list, whose pages have so many items */
export async function readWanted<T>(
  { limit, all }: WantedOptions,
  list: (pageSize: number) => AsyncIterable<T>,
): Promise<readonly T[]> {
  const found: T[] = [];
  const wanted = all === true ? Infinity : limit;
  for await (const item of list(Math.min(MAX_PAGE, wanted))) {
    found.push(item);
    if (found.length >= wanted) break;
  }
  return found;
}
