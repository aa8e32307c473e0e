import { execa } from "execa";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import treeKill from "tree-kill";
import { z } from "zod";

/** turnd as a child process. */
export interface TurndProcess {
  readonly url: string;
  /** The newest lines of its log, for a person who has to find out what went wrong. */
  readonly log: readonly string[];
  /** Asks it to stop and waits until it is gone. @returns its exit code, null when it had to be killed */
  stop(): Promise<number | null>;
}

const MAIN = join(import.meta.dirname, "../../src/turnd/main.ts");
const MAX_LOG_LINES = 40;
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;

const Listening = z.object({ msg: z.literal("listening"), url: z.url() });

/**
 * Starts turnd and waits until it listens.
 *
 * @throws if it ends first, or does not listen within 30 s; then it is gone
 */
export async function startTurnd(env: Readonly<Record<string, string>>): Promise<TurndProcess> {
  const child = execa(process.execPath, [MAIN, "serve"], {
    env,
    extendEnv: false,
    stdin: "ignore",
    reject: false,
    buffer: false,
    all: true,
  });
  const log: string[] = [];
  const listening = Promise.withResolvers<string>();
  const reading = (async () => {
    for await (const line of child.iterable({ from: "all" })) {
      if (log.push(line) > MAX_LOG_LINES) log.shift();
      const url = readUrl(line);
      if (url !== undefined) listening.resolve(url);
    }
    listening.reject(new Error(`turnd ended before it listened:\n${log.join("\n")}`));
  })();
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    const isGone = await Promise.race([child.then(() => true), setTimeout(STOP_LIMIT_MS, false, { ref: false })]);
    if (!isGone && child.pid !== undefined) treeKill(child.pid, "SIGKILL");
    const [{ exitCode }] = await Promise.all([child, reading]);
    return exitCode ?? null;
  };
  try {
    const late = setTimeout(START_LIMIT_MS, undefined, { ref: false }).then(() => {
      throw new Error(`turnd did not listen within ${START_LIMIT_MS} ms:\n${log.join("\n")}`);
    });
    return { url: await Promise.race([listening.promise, late]), log, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readUrl(line: string): string | undefined {
  if (!line.startsWith("{")) return undefined;
  return Listening.safeParse(JSON.parse(line)).data?.url;
}
