import { dirname, join } from "node:path";
import { toRunAs } from "../process/run-as.ts";
import { closeState } from "../storage/state-modes.ts";
import { createStarter } from "../process/starter/starter.ts";
import { holdLock } from "../storage/lock.ts";
import type { Daemon, DaemonOptions } from "./daemon-wiring.ts";
import { assertPlaces, assertStateIsOurs } from "./check-directories.ts";
import { checkDirectories } from "./start-directories.ts";

/**
 * Starts turnd: checks its places, takes the lock of the state directory, and serves.
 *
 * Most of the program is loaded while processes run that have to be waited for.
 *
 * @throws {SettingsError} for what has to be changed in the environment
 * @throws {LockedError} if another daemon has the state directory
 * @throws any other reason why it cannot serve. Turns of an earlier daemon may have been resumed by then, so the caller
 * has to end this process at once: the next start resumes what runs, as after `kill -9`
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { settings, sandboxDirectory, logger } = options;
  const stateDirectory = settings.values.TURND_STATE_DIR;
  assertPlaces(settings, dirname(sandboxDirectory));
  await checkDirectories(settings.values, toRunAs(settings.runAs, sandboxDirectory));
  assertStateIsOurs(settings);
  for (const path of closeState(stateDirectory)) {
    logger.warn({ path }, "other users of this machine could read this until now");
  }
  const [lock, { createTurnParts }] = await Promise.all([
    holdLock(join(stateDirectory, "lock"), `pid ${process.pid}`),
    import("./turn-parts.ts"),
  ]);
  const starter = await createStarter({
    program: join(sandboxDirectory, "starter"),
    directory: join(stateDirectory, "starter"),
    logger,
  });
  starter.begin();
  const [parts, { wireDaemon }] = await Promise.all([
    createTurnParts({ ...options, starter }),
    import("./daemon-wiring.ts"),
  ]).catch(async (error: unknown) => {
    await starter.stop();
    await lock.release();
    throw error;
  });
  return wireDaemon(options, parts, { lock, starter });
}
