import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";

export interface ProcessOptions {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Gets everything that every life of it prints. */
  readonly logPath: string;
}

/** A process that is killed now and then and started again, always on the same port. */
export interface KillableProcess {
  readonly name: string;
  /** The number of the life that it leads now, for what is looked up in /proc. */
  pid(): number;
  /** `kill -9`, then, so many milliseconds later, another one. */
  killAndRestart(downMs: number): Promise<void>;
  kills(): number;
  /** When its present life began to listen, on the clock of `performance`. */
  upSince(): number;
  /** SIGTERM, and wait. @returns its exit code; null for a signal */
  stop(): Promise<number | null>;
}

const START_LIMIT_MS = 240_000;
const TAIL_LINES = 20;

/** Starts the first one and waits until it listens. */
export async function startKillableProcess(options: ProcessOptions): Promise<KillableProcess> {
  const log = createWriteStream(options.logPath, { flags: "a" });
  let current = await start();
  let kills = 0;
  let upSince = performance.now();

  async function start() {
    const [program, ...args] = options.command;
    const child = execa(program, args, {
      extendEnv: false,
      env: options.env,
      reject: false,
      stdin: "ignore",
      buffer: false,
      cleanup: true,
      all: true,
      forceKillAfterDelay: false,
    });
    const listening = Promise.withResolvers<void>();
    const tail: string[] = [];
    createInterface({ input: child.all }).on("line", (line) => {
      log.write(`${line}\n`);
      if (tail.push(line) > TAIL_LINES) tail.shift();
      if (line.includes('"msg":"listening"')) listening.resolve();
    });
    const exited = Promise.resolve(child).then(({ exitCode }) => exitCode ?? null);
    const isUp = await Promise.race([
      listening.promise.then(() => true),
      exited.then(() => false),
      delay(START_LIMIT_MS, "late", { ref: false }),
    ]);
    if (isUp === true) return { child, exited };
    child.kill("SIGKILL");
    const reason = isUp === false ? "ended at its start" : `did not listen within ${START_LIMIT_MS} ms`;
    throw new Error(`${options.name} ${reason}:\n${tail.join("\n")}`);
  }

  return {
    name: options.name,
    pid: () => current.child.pid ?? 0,
    async killAndRestart(downMs) {
      kills += 1;
      current.child.kill("SIGKILL");
      await current.exited;
      await delay(downMs);
      current = await start();
      upSince = performance.now();
    },
    kills: () => kills,
    upSince: () => upSince,
    async stop() {
      current.child.kill("SIGTERM");
      const code = await current.exited;
      log.end();
      return code;
    },
  };
}
