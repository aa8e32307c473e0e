/** What is counted of a turn's events. */
export interface EventCounts {
  unknown: number;
  tools: number;
  retries: number;
}

/** What is counted while a turn's lines are translated. */
export interface Counts extends EventCounts {
  records: number;
}

/** Counts an event by its type. */
export function countEvent(counts: EventCounts, type: string): void {
  if (type === "record.unknown") counts.unknown += 1;
  else if (type === "tool.started") counts.tools += 1;
  else if (type === "retry") counts.retries += 1;
}
