/** How much of a list is wanted. */
export interface PagesOptions {
  readonly limit: number;
  /** As much as there is. */
  readonly all?: true;
}

/** The most that one page has. */
const MAX_PAGE = 1_000;

/** Reads a list page by page, until there are as many items as are wanted. */
export async function readPages<T>(
  { limit, all }: PagesOptions,
  read: (page: { readonly limit: number; readonly cursor?: string | undefined }) => Promise<{
    readonly items: readonly T[];
    readonly next: string | undefined;
  }>,
): Promise<readonly T[]> {
  const found: T[] = [];
  const wanted = all === true ? Infinity : limit;
  for (let cursor: string | undefined; ;) {
    const { items, next } = await read({ limit: Math.min(MAX_PAGE, wanted - found.length), cursor });
    found.push(...items);
    if (next === undefined || found.length >= wanted) return found;
    cursor = next;
  }
}
