import type { Writable } from "node:stream";
import type { RunAs } from "../run-as.ts";
import { startAsUser, type UserProcess } from "../user-process.ts";

/** What a worker is started with. Source: sandbox/work-on-files. */
export interface FileTask {
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
  /** Aborts when it has made no progress for too long, or is given up. */
  readonly stalled: AbortSignal;
  /** Ends it at once: nobody waits for it any more. */
  giveUp(reason: Error): void;
  /** Lets it give up what is not finished, then ends it. @returns whether it ended by itself */
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
  const { runAs, workspace, path, options = [], stallMs } = task;
  const where = [Buffer.from(workspace).toString("hex"), path.toString("hex")];
  const process = startAsUser(["files", task.task, ...where, ...options], { runAs });
  process.stderr.resume();
  return wrap(process, stallMs);
}

function wrap(child: UserProcess, stallMs: number): FileWorker {
  const stalled = new AbortController();
  const giveUp = (reason: Error): void => {
    stalled.abort(reason);
    child.end();
  };
  const timer = setTimeout(() => giveUp(new WorkerError(`nothing moved for ${stallMs} ms`)), stallMs);
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
    giveUp,
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
      const killer = setTimeout(() => child.end(), GIVE_UP_MS);
      try {
        return (await child.ended) === 0;
      } finally {
        clearTimeout(killer);
        clearTimeout(timer);
        child.stdout.destroy();
        child.stdin.destroy();
      }
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
