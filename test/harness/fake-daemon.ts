import { onTestFinished } from "vitest";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { fakeEnv } from "./fake-env.ts";
import { processesNaming } from "./processes.ts";
import { temporaryDirectory } from "./temporary.ts";

/** A daemon with the fake CLI B in a directory of its own; stopped when the test is done. */
export async function fakeDaemon(env: Readonly<Record<string, string>> = {}): Promise<TestDaemon> {
  return fakeDaemonIn(temporaryDirectory(onTestFinished), env);
}

/** The same in a given directory, so that a second one can go on where the first stopped. */
export async function fakeDaemonIn(directory: string, env: Readonly<Record<string, string>> = {}): Promise<TestDaemon> {
  const options = { directory, env: { ...fakeEnv(directory), ...env } };
  const daemon = await startDaemon(options);
  onTestFinished(async () => {
    await daemon.stop();
    // Of one that was killed, turns may go on: the next one ends them.
    if (processesNaming(`${daemon.state}/sessions`).length > 0) await (await startDaemon(options)).stop();
  });
  return daemon;
}
