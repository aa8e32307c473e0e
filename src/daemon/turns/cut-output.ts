import { stat, truncate } from "node:fs/promises";
import { join } from "node:path";

/**
 * Cuts off what a turn's files hold beyond the limit, once nothing writes there any more: it was not read, and a tool can
 * make a file of a terabyte of its own turn's output that takes no room on the disk.
 *
 * What is left is what the events tell of, so that a restart, an export and a replay read the same and end as soon.
 */
export async function cutOutput(directory: string, maxBytes: number): Promise<void> {
  for (const name of ["stdout.jsonl", "stderr.log"]) {
    const path = join(directory, name);
    if ((await stat(path)).size > maxBytes) await truncate(path, maxBytes);
  }
}
