import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { CommandGroups } from "../../process/cgroup/cgroup.ts";
import { sweepLeftovers, sweepMarked } from "../../process/keeper/leftovers.ts";
import { markOf, type GroupParts } from "./turn-group.ts";

/** Longest that a start waits: what is stuck is ended beside everything else. */
const WAIT_MS = 10_000;

/**
 * Ends what still runs of turns that cannot be read: no run resumes them, so nothing else would.
 *
 * Never throws.
 */
export async function endLeftovers(
  directories: readonly string[],
  { logger, groups: { groups } }: GroupParts,
): Promise<void> {
  const given = new AbortController();
  const ended = Promise.all(directories.map((directory) => endOne(directory, logger, groups)));
  const limit = delay(WAIT_MS, undefined, { signal: given.signal }).catch(() => undefined);
  await Promise.race([ended, limit]);
  given.abort();
}

async function endOne(directory: string, logger: Logger, groups: CommandGroups | undefined): Promise<void> {
  try {
    const mark = markOf(basename(directory), groups);
    await sweepLeftovers(directory, mark);
    await sweepMarked(mark);
    await groups?.remove(mark.marker);
  } catch (error) {
    logger.error({ path: directory, err: error }, "processes left behind");
  }
}
