import type { RawRecord } from "../../protocol/raw-records.ts";
import { turnd } from "../connection.ts";

/** One line of what a turn's CLI has printed; undefined where there is no such line. */
export async function readRecord(
  turnId: string,
  { source, line }: { readonly source: "stdout" | "stderr"; readonly line: number },
  signal: AbortSignal,
): Promise<RawRecord | undefined> {
  const { records } = await turnd.records(turnId, { source, from: line, limit: 1, signal });
  return records[0];
}
