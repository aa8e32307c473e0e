import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../../../test/harness/daemon.ts";
import { fakeEnv } from "../../../test/harness/fake-env.ts";
import { REPOSITORY } from "../../../test/harness/temporary.ts";

/** A daemon that is killed now and then and comes back on the same state. */
export interface KillableDaemon {
  /** The living one; waits for it while there is none. */
  current(): Promise<TestDaemon>;
  /** `kill -9`, then another one. */
  killAndRestart(): Promise<void>;
  kills(): number;
}

/** Starts the first one. */
export async function startKillableDaemon(directory: string): Promise<KillableDaemon> {
  const start = (): Promise<TestDaemon> =>
    startDaemon({
      directory,
      program: join(REPOSITORY, "src/turnd/main.ts"),
      env: { ...fakeEnv(directory), TURND_CANCEL_GRACE_MS: "300", TURND_STEER_WAIT_MS: "1000" },
    });
  let current = start();
  let kills = 0;
  await current;
  return {
    current: () => current,
    async killAndRestart() {
      const dying = await current;
      // Set first: no client may be sent to the one that is about to be killed.
      current = (async () => {
        dying.kill("SIGKILL");
        await dying.exited;
        return start();
      })();
      kills += 1;
      await current;
    },
    kills: () => kills,
  };
}
