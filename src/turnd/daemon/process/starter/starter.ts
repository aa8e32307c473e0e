import { once } from "node:events";
import { constants } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { spawn, type ChildProcess } from "node:child_process";
import type { Logger } from "pino";
import { ResourcesExhaustedError } from "../exhausted.ts";
import { restrictToOwner } from "../../storage/restrict-to-owner.ts";
import { connectTo, type AskOptions, type Connection } from "./connection.ts";
import type { StarterAnswer } from "./messages.ts";

/** Has work done that turnd cannot do itself: as the CLIs' user, or in a process that outlives it. */
export interface Helper {
  /**
   * Has one task done. @see sandbox/starter
   *
   * @returns undefined where there is no starter, or it ended before it answered: what the caller does in its place may
   * find the task done already
   * @throws the signal's reason, once it has aborted; the task is given up then
   * @throws {ResourcesExhaustedError} if the task could get no process
   */
  ask(task: readonly (string | Uint8Array)[], options?: AskOptions): Promise<StarterAnswer | undefined>;
}

/** A process that starts keepers and does short work as the CLIs' user, for a tenth of what a new process costs. Each task that it is asked for has a process of its own. */
export interface Starter extends Helper {
  /** Makes one process for several tasks, which is started before the first of them is known; the last may make it a keeper. */
  startHelper(): OpenHelper;
  /** Starts it before it is first asked. */
  begin(): void;
  /** Ends it. What it has started goes on. */
  stop(): Promise<void>;
}

/** One process; its tasks come one after the other. */
export interface OpenHelper extends Helper {
  /** Ends it, unless it has become a keeper. */
  close(): void;
}

export interface StarterOptions {
  /** `sandbox/starter`. */
  readonly program: string;
  /** Root's own; its socket is made there. */
  readonly directory: string;
  readonly logger: Logger;
}

/** The tasks could get no process. Source: `sandbox/starter`. */
const NO_PROCESS = -1;
const PERL = "/usr/bin/perl";
/** A keeper's title takes the place of its arguments and environment, which have to be as long. */
const TITLE_BYTES = 8_192;
/** The longest that a stop waits; it ends when its stdin does. */
const STOP_MS = 2_000;
/** A machine on which it cannot work is not asked again. */
const MAX_FAILED_STARTS = 3;
/** Not in Node's list: a handle on a directory only. @see open(2) */
const O_PATH = 0o10_000_000;

interface Running {
  readonly child: ChildProcess;
  /** Resolves when its socket is there; false where it ended before. */
  readonly ready: Promise<boolean>;
}

/** Makes a starter, which is started when it is first asked, and again where it has ended; not for ever where it never works. */
export async function createStarter({ program, directory, logger }: StarterOptions): Promise<Starter> {
  const place = await openPlace(directory).catch((error: unknown) => {
    logger.warn({ err: error }, "there is no place for the starter of keepers: they are started without it");
    return undefined;
  });
  // An address of 107 bytes at most, wherever the state is.
  const address = `/proc/self/fd/${place?.fd ?? -1}/socket`;
  let running: Running | undefined;
  let failedStarts = 0;
  let isOver = place === undefined;

  function start(): Running {
    const env = { TITLE: " ".repeat(TITLE_BYTES) };
    const child: ChildProcess = spawn(PERL, [program], {
      cwd: "/",
      detached: true,
      env,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const { stdin, stdout } = child;
    stdin?.on("error", () => undefined);
    stdin?.write(`${join(directory, "socket")}\n`);
    const ready = new Promise<boolean>((resolve) => {
      stdout?.once("data", () => resolve(true));
      child.once("error", () => resolve(false));
      child.once("exit", () => resolve(false));
    });
    const mine = { child, ready };
    void letGo(mine);
    const forget = (): void => {
      if (running === mine) running = undefined;
      if (!isOver) logger.warn({ exitCode: child.exitCode, signal: child.signalCode }, "starter of keepers ended");
    };
    child.once("error", forget);
    child.once("exit", forget);
    return mine;
  }

  /** Once it is there it does not keep this process alive. */
  async function letGo({ child, ready }: Running): Promise<void> {
    failedStarts = (await ready) ? 0 : failedStarts + 1;
    child.unref();
    if (child.stdin instanceof Socket) child.stdin.unref();
    if (child.stdout instanceof Socket) child.stdout.unref();
  }

  function begin(): Running {
    running ??= start();
    return running;
  }

  /** @returns undefined where there is no starter */
  async function connectWhenReady(): Promise<Connection | undefined> {
    if (isOver || failedStarts >= MAX_FAILED_STARTS) return undefined;
    return (await begin().ready) ? connectTo(address) : undefined;
  }

  function startHelper(): OpenHelper {
    let connecting = connectWhenReady();
    /** What has done a large task ends with it. */
    async function connected(): Promise<Connection | undefined> {
      if ((await connecting)?.isClosed === true) connecting = connectWhenReady();
      return connecting;
    }
    return {
      async ask(task, options = {}) {
        options.signal?.throwIfAborted();
        const connection = await connected();
        options.signal?.throwIfAborted();
        const result = await connection?.ask(task, options);
        if (result?.code === NO_PROCESS)
          throw new ResourcesExhaustedError("the sandbox has reached its limit of processes");
        return result;
      },
      close: () => void connecting.then((connection) => connection?.close()),
    };
  }

  return {
    startHelper,
    async ask(task, options) {
      const helper = startHelper();
      try {
        return await helper.ask(task, options);
      } finally {
        helper.close();
      }
    },
    begin() {
      if (!isOver) begin();
    },
    async stop() {
      isOver = true;
      const child = running?.child;
      running = undefined;
      if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        const gone = once(child, "exit");
        child.ref();
        child.stdin?.end();
        const killer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
        await gone;
        clearTimeout(killer);
      }
      await place?.close();
    },
  };
}

async function openPlace(directory: string): Promise<FileHandle> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // Whoever could put another socket there would be given the keys of every turn.
  await restrictToOwner(directory);
  return open(directory, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}
