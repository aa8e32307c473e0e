import { onTestFinished } from "vitest";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { fakeEnv } from "./fake-env.ts";

/** A daemon with the fake CLI B in a namespace of its own, after a line of shell in there. Only root can have one. */
export async function startBehind(directory: string, namespace: string, line: string, env = {}): Promise<TestDaemon> {
  const through = ["unshare", namespace, "/bin/sh", "-ec", `${line}; exec "$0" "$@"`];
  const turnd = await startDaemon({ directory, env: { ...fakeEnv(directory), ...env }, through });
  onTestFinished(async () => void (await turnd.stop()));
  return turnd;
}
