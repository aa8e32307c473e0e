import { z } from "zod";
import { readJsonLine } from "../../contract/json-line.ts";

/** Every record has the time at which it was printed, in milliseconds. Source: docs/contracts/cli-a.md §1. */
const TimedRecord = z.object({ timestamp: z.number().nonnegative().max(Date.UTC(9999, 0)) });

/** When a record was printed; undefined for a line that is no record or has no such time. */
export function readTime(line: string): number | undefined {
  const read = readJsonLine(line);
  return read.kind === "value" ? TimedRecord.safeParse(read.value).data?.timestamp : undefined;
}
