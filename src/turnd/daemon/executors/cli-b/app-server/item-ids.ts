/** Names the items of a turn: ids of the provider's are not unique, so the second start of one has a name of its own. */
export interface ItemIds {
  /** An item has begun. */
  begin(id: string): string;
  /** What an item is called that has begun; begins it where it has not. */
  nameOf(id: string): string;
}

/** Names the items of one turn. */
export function createItemIds(): ItemIds {
  const starts = new Map<string, number>();
  const toName = (id: string): string => ((starts.get(id) ?? 1) === 1 ? id : `${id}#${starts.get(id)}`);
  function begin(id: string): string {
    starts.set(id, (starts.get(id) ?? 0) + 1);
    return toName(id);
  }
  return { begin, nameOf: (id) => (starts.has(id) ? toName(id) : begin(id)) };
}
