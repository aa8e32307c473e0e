import { basename } from "node:path";
import type { Logger } from "pino";
import { adoptStarted } from "../process/keeper.ts";
import { sweepTree } from "../process/tree.ts";
import { wasStarted } from "./set-aside.ts";

/** Ends what still runs of turns that cannot be read (law 6): nobody takes them up, so nobody else would. */
export async function endLeftovers(directories: readonly string[], logger: Logger): Promise<void> {
  await Promise.all(
    directories.map(async (directory) => {
      try {
        const started = (await wasStarted(directory)) ? await adoptStarted(directory) : undefined;
        if (started !== undefined) await sweepTree({ started, marker: basename(directory) });
      } catch (error) {
        logger.error({ path: directory, err: error }, "processes left behind");
      }
    }),
  );
}
