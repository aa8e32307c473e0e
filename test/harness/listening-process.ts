import { createInterface } from "node:readline";
import { execa } from "execa";

/** A program in a process of its own that has printed its address. */
export interface ListeningProcess {
  readonly pid: number;
  /** Its address; empty for one that listens nowhere. */
  readonly url: string;
  /** Lines of its log so far, of both streams. */
  readonly log: readonly string[];
  /** Resolves with the exit code, or null for a signal. */
  readonly exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a program with only this environment, and waits for its line `listening`.
 *
 * @param cwd - where it runs, if not where the tests do
 * @throws with its log when it ends before
 */
export async function startListening(
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string = process.cwd(),
): Promise<ListeningProcess> {
  const child = execa(program, args, {
    cwd,
    extendEnv: false,
    env,
    reject: false,
    stdin: "ignore",
    buffer: false,
    cleanup: true,
    // A loaded machine takes longer than execa's five seconds to stop what has children; each test has its own limit.
    forceKillAfterDelay: false,
  });
  const log: string[] = [];
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      log.push(line);
      if (line.includes('"msg":"listening"')) resolve(/"url":"(http:[^"]+)"/.exec(line)?.[1] ?? "");
    });
  }
  const ended = Promise.resolve(child);
  const exited = ended.then((result) => result.exitCode ?? null);
  const url = await Promise.race([
    listening,
    ended.then(({ shortMessage = "exit code 0" }) => {
      throw new Error(`${args[0] ?? program} ended before it listened: ${shortMessage}\n${log.join("\n")}`);
    }),
  ]);
  return { pid: child.pid ?? 0, url, log, exited, kill: (signal) => void child.kill(signal) };
}
