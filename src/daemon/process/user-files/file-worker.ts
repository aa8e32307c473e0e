import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { isExhaustedCode, throwIfExhausted } from "../exhausted.ts";
import { PERL } from "../keeper/keeper.ts";
import { asUser, type RunAs } from "../run-as.ts";

/** What a worker is started with. Source: sandbox/work-on-files. */
export interface FileTask {
  /** The text of `sandbox/work-on-files`. */
  readonly program: string;
  readonly runAs: RunAs;
  readonly task: "look" | "write" | "make" | "remove" | "discard";
  /** Absolute, without links. */
  readonly workspace: string;
  /** Below the workspace; empty for the workspace itself. */
  readonly path: Buffer;
  readonly options?: readonly string[];
  /** Milliseconds without a byte in either direction after which it is ended. */
  readonly stallMs: number;
}

/** A process of the CLIs' user that does one thing with the files of a workspace. */
export interface FileWorker {
  /** The next line of its answer; undefined where it has ended. */
  readLine(): Promise<string | undefined>;
  /** The next bytes of its answer, `max` at most. @throws {WorkerError} where it ends before */
  readSome(max: number): Promise<Buffer>;
  /** Resolves when there is room for more. @throws {WorkerError} where it reads nothing any more */
  write(bytes: Buffer): Promise<void>;
  /** Aborts when it has made no progress for too long. */
  readonly stalled: AbortSignal;
  /** Lets it give up what is not finished, then kills it. @returns whether it ended by itself */
  end(): Promise<boolean>;
}

/** It was killed, or ended with less than it had to say. */
export class WorkerError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WorkerError";
  }
}

/** A name and what a link names, in hexadecimal, and then some. */
const MAX_LINE = 16_384;
/** For it to remove what it has not finished writing. */
const GIVE_UP_MS = 5_000;

/**
 * Starts a worker. What it says comes from a process that a tool of the same user can end or stop, so every answer is
 * limited and checked by its reader.
 *
 * @throws {ResourcesExhaustedError} if there is no process left for it
 */
export async function startFileWorker(task: FileTask): Promise<FileWorker> {
  const { program, runAs, workspace, path, options = [], stallMs } = task;
  const where = [Buffer.from(workspace).toString("hex"), path.toString("hex")];
  const [file = "", ...args] = asUser(runAs, [PERL, "-e", program, task.task, ...where, ...options]);
  const child = spawn(file, args, { cwd: "/", env: {}, stdio: ["pipe", "pipe", "ignore"] });
  const isEnded = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  try {
    await once(child, "spawn");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (isExhaustedCode(code)) throwIfExhausted(code);
    throw error;
  }
  return wrap(child, isEnded, stallMs);
}

function wrap(
  child: ChildProcessByStdio<Writable, Readable, null>,
  isEnded: Promise<number | null>,
  stallMs: number,
): FileWorker {
  const stalled = new AbortController();
  const timer = setTimeout(() => {
    stalled.abort(new WorkerError(`nothing moved for ${stallMs} ms`));
    child.kill("SIGKILL");
  }, stallMs);
  // Its end is known by what it says and by its exit.
  child.stdin.on("error", () => undefined);
  const chunks: AsyncIterator<Buffer> = child.stdout.iterator({ destroyOnReturn: false });
  let rest: Buffer = Buffer.alloc(0);

  async function more(): Promise<boolean> {
    const next = await chunks.next();
    timer.refresh();
    if (next.done === true) return false;
    rest = rest.length === 0 ? next.value : Buffer.concat([rest, next.value]);
    return true;
  }

  return {
    stalled: stalled.signal,
    async readLine() {
      let end = rest.indexOf(0x0a);
      while (end === -1) {
        if (rest.length > MAX_LINE) throw new WorkerError("it wrote more than a line");
        if (!(await more())) return undefined;
        end = rest.indexOf(0x0a);
      }
      const line = rest.toString("latin1", 0, end);
      rest = rest.subarray(end + 1);
      return line;
    },
    async readSome(max) {
      if (rest.length === 0 && !(await more())) throw new WorkerError("it ended before its answer did");
      const some = rest.subarray(0, max);
      rest = rest.subarray(some.length);
      return some;
    },
    async write(bytes) {
      timer.refresh();
      if (child.stdin.destroyed) throw new WorkerError("it reads nothing any more");
      if (child.stdin.write(bytes)) return;
      await untilDrained(child.stdin);
      if (child.stdin.destroyed) throw new WorkerError("it reads nothing any more");
    },
    async end() {
      child.stdin.end();
      child.stdout.resume();
      const killer = setTimeout(() => child.kill("SIGKILL"), GIVE_UP_MS);
      const code = await isEnded;
      clearTimeout(killer);
      clearTimeout(timer);
      child.stdout.destroy();
      child.stdin.destroy();
      return code === 0;
    },
  };
}

/** Resolves when there is room again, or never will be. */
export function untilDrained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done).off("close", done);
      resolve();
    };
    stream.on("drain", done).on("close", done);
  });
}
