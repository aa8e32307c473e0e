import { onTestFinished } from "vitest";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { fakeEnv } from "./fake-env.ts";
import { temporaryDirectory } from "./temporary.ts";

/** A daemon with the fake CLI B in a directory of its own; stopped when the test is done. */
export async function fakeDaemon(env: Readonly<Record<string, string>> = {}): Promise<TestDaemon> {
  return fakeDaemonIn(temporaryDirectory(onTestFinished), env);
}

/** The same in a given directory, so that a second one can go on where the first stopped. */
export async function fakeDaemonIn(directory: string, env: Readonly<Record<string, string>> = {}): Promise<TestDaemon> {
  const daemon = await startDaemon({ directory, env: { ...fakeEnv(directory), ...env } });
  onTestFinished(async () => void (await daemon.stop()));
  return daemon;
}
