import { once } from "node:events";
import { constants } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { connect, Socket } from "node:net";
import { join } from "node:path";
import { spawn, type ChildProcess } from "node:child_process";
import type { Logger } from "pino";
import { ResourcesExhaustedError } from "../exhausted.ts";
import { createAnswerReader, encodeRequest, type StarterAnswer } from "./messages.ts";

/** A process that starts keepers and does short work as the CLIs' user, for a tenth of what a new process costs. */
export interface Starter {
  /**
   * Has one task done, in a process of its own. @see sandbox/starter
   *
   * @returns undefined where there is no starter, or it ended before it answered: what the caller does in its place may
   * find the task done already
   * @throws the signal's reason, once it has aborted; the task is given up then
   * @throws {ResourcesExhaustedError} if the task could get no process
   */
  ask(task: readonly (string | Uint8Array)[], options?: AskOptions): Promise<StarterAnswer | undefined>;
  /** Starts it before it is first asked. */
  begin(): void;
  /** Ends it. What it has started goes on. */
  stop(): Promise<void>;
}

export interface AskOptions {
  /** After which it is given up; its code is null then. Absent: it is waited for as long as it takes. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface StarterOptions {
  /** `sandbox/starter`. */
  readonly program: string;
  /** Root's own; its socket is made there. */
  readonly directory: string;
  readonly logger: Logger;
}

/** The task could get no process. Source: `sandbox/starter`. */
const NO_PROCESS = -1;
const PERL = "/usr/bin/perl";
/** A keeper's title takes the place of its arguments and environment, which have to be as long. */
const TITLE_BYTES = 8_192;
/** The longest that a stop waits; it ends when its stdin does. */
const STOP_MS = 2_000;
/** A machine on which it cannot work is not asked again. */
const MAX_FAILED_STARTS = 3;
/** Not in Node's list: a handle on a directory alone. @see open(2) */
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

  return {
    async ask(task, options = {}) {
      options.signal?.throwIfAborted();
      if (isOver || failedStarts >= MAX_FAILED_STARTS) return undefined;
      if (!(await begin().ready)) return undefined;
      options.signal?.throwIfAborted();
      const result = await askAt(address, task, options);
      if (result?.code === NO_PROCESS)
        throw new ResourcesExhaustedError("the sandbox has reached its limit of processes");
      return result;
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
  return open(directory, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

function askAt(
  address: string,
  task: readonly (string | Uint8Array)[],
  { timeoutMs, signal }: AskOptions,
): Promise<StarterAnswer | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(address);
    const reader = createAnswerReader();
    let timer: NodeJS.Timeout | undefined;
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      socket.destroy();
      finish();
    };
    const onAbort = (): void => settle(() => reject(toError(signal?.reason)));
    if (timeoutMs !== undefined) {
      timer = setTimeout(() => settle(() => resolve({ code: null, stdout: "", stderr: "" })), timeoutMs);
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.on("data", (bytes) => {
      const answer = reader.push(bytes);
      if (answer !== undefined) settle(() => resolve(answer));
    });
    socket.on("error", () => settle(() => resolve(undefined)));
    socket.on("close", () => settle(() => resolve(undefined)));
    socket.write(encodeRequest(task));
  });
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
