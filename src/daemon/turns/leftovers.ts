import { basename } from "node:path";
import type { Logger } from "pino";
import { sweepLeftovers } from "../process/leftovers.ts";

/** Ends what still runs of turns that cannot be read: nobody takes them up, so nobody else would. */
export async function endLeftovers(directories: readonly string[], logger: Logger): Promise<void> {
  await Promise.all(
    directories.map(async (directory) => {
      try {
        await sweepLeftovers(directory, { marker: basename(directory) });
      } catch (error) {
        logger.error({ path: directory, err: error }, "processes left behind");
      }
    }),
  );
}
