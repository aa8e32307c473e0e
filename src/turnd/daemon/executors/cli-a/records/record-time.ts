import { readJsonLine } from "../../contract/json-line.ts";
import { z } from "zod";

/** Every record has the time at which it was printed, in milliseconds. Source: docs/contracts/cli-a.md §1. */
const Timestamp = z.number().nonnegative().max(Date.UTC(9999, 0));
const TimedRecord = z.object({ timestamp: Timestamp });

/** When a record was printed; undefined for a line that is no record or has no such time. */
export function readTime(line: string): number | undefined {
  const read = readJsonLine(line);
  return read.kind === "value" ? TimedRecord.safeParse(read.value).data?.timestamp : undefined;
}

/** The same of a record that is read. */
export function timeOf({ timestamp }: { readonly timestamp?: number | undefined }): number | undefined {
  return Timestamp.safeParse(timestamp).data;
}
