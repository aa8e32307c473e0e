import { signal } from "@preact/signals";
import type { Group } from "../events/presenters.tsx";
import type { Row } from "./event-store.ts";

/** Groups of events that are not shown. */
export const hiddenGroups = signal<ReadonlySet<Group>>(new Set<Group>(["steps"]));
export const eventSearch = signal("");

/** Hides a group, or shows it again. */
export function toggleGroup(group: Group): void {
  const hidden = new Set(hiddenGroups.value);
  if (!hidden.delete(group)) hidden.add(group);
  hiddenGroups.value = hidden;
}

/** The rows that are shown, by their places in the list of all; events that begin or end a turn always are. */
export function filterRows(rows: readonly Row[], hidden: ReadonlySet<Group>, search: string): number[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown: number[] = [];
  for (const [index, row] of rows.entries()) {
    const isFrame = row.event.type === "turn.ended" || row.event.type === "turn.started";
    if (hidden.has(row.group) && !(isFrame && words.length === 0)) continue;
    if (words.every((word) => row.event.haystack.includes(word))) shown.push(index);
  }
  return shown;
}
