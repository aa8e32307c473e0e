import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";

/** The agent service as a child process. */
export interface ServiceProcess {
  readonly url: string;
  /** The administrator's, of the file that the service made. */
  readonly password: string;
  /** The newest lines of its log. */
  readonly log: readonly string[];
  /** Asks it to stop and waits until it is gone. @returns its exit code, null when it had to be killed */
  stop(): Promise<number | null>;
}

const MAIN = join(import.meta.dirname, "../../service.ts");
const MAX_LOG_LINES = 60;
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 60_000;

/**
 * Starts what `npm run service` starts, in a data directory, and waits until it listens.
 *
 * @throws if it ends first, or does not listen within two minutes; then it is gone
 */
export async function startService(
  directory: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ServiceProcess> {
  const child = execa(process.execPath, [MAIN], {
    env: { ...env, SERVICE_DATA_DIR: directory, SERVICE_PORT: "0" },
    extendEnv: false,
    stdin: "ignore",
    reject: false,
    buffer: false,
    all: true,
    // A session of its own: Ctrl-C of a terminal is answered here, in order.
    detached: true,
    forceKillAfterDelay: STOP_LIMIT_MS,
  });
  const log: string[] = [];
  const listening = Promise.withResolvers<string>();
  const reading = (async () => {
    for await (const line of child.iterable({ from: "all" })) {
      if (log.push(line) > MAX_LOG_LINES) log.shift();
      const url = /"url":"(http:[^"]+)"[^}]*"msg":"listening"/.exec(line)?.[1];
      if (url !== undefined) listening.resolve(url);
    }
    listening.reject(new Error(`the service ended before it listened:\n${log.join("\n")}`));
  })();
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    const [{ exitCode }] = await Promise.all([child, reading]);
    return exitCode ?? null;
  };
  try {
    const late = delay(START_LIMIT_MS, undefined, { ref: false, signal }).then(() => {
      throw new Error(`the service did not listen within ${START_LIMIT_MS} ms:\n${log.join("\n")}`);
    });
    // Both may reject; the one that does not decide is ignored.
    late.catch(() => undefined);
    const url = await Promise.race([listening.promise, late]);
    const password = (await readFile(join(directory, "admin-password"), "utf8")).trim();
    return { url, password, log, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
