import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { Readable } from "node:stream";
import type { ChildEnd } from "./explain.ts";
import type { ChildRequest, ChildSettings } from "./messages.ts";
import { createFrameReader, type Frame } from "./frames.ts";

/** Limits of a child. The kernel keeps memory and processor time, this process what is resident and how long it takes. */
export interface Limits {
  readonly memoryMegabytes: number;
  /** Seconds of processor time over the child's whole life. */
  readonly cpuSeconds: number;
}

/** Why a child was killed by us. */
export type KillReason = "timeout" | "memory" | "output" | "aborted" | "retired";

/** A running child. */
export interface ParserChild {
  readonly pid: number;
  /** Its working directory, empty when it is idle. */
  readonly directory: string;
  send(request: ChildRequest): void;
  /** The next frame; undefined once its pipe has ended. Nothing is read ahead of being asked for. */
  next(): Promise<Frame | undefined>;
  /** Kills it and all it started. The first reason stays. Safe to call twice. */
  kill(reason: KillReason): void;
  killedFor(): KillReason | undefined;
  /** Resolves once it is gone. */
  readonly ended: Promise<Omit<ChildEnd, "wasBusyToTheEnd">>;
}

// Source: a file of the repository's src/, or of the bundle, where the child is one file beside this one.
const PROGRAM = join(import.meta.dirname, extname(import.meta.filename) === ".ts" ? "child.ts" : "parse-child.mjs");
const WATCH_MS = 100;
const STDERR_LENGTH = 4_000;
/** Part of the memory that is JavaScript's; the rest is for buffers and the program itself. */
const HEAP_SHARE = 0.6;
/** Part of the memory from which on a sudden end is put down to it. */
const LARGE = 0.6;
/** Largest file that a child or what it starts may write, in blocks of 512 bytes. */
const FILE_BLOCKS = 2 * 1024 * 1024;
const START_LINE = 'ulimit -c 0 && ulimit -f "$1" && ulimit -d "$2" && ulimit -t "$3" && shift 3 && exec "$@"';
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

/** Starts a child below its limits, in a directory of its own, without this process's environment. */
export function startChild(directory: string, settings: ChildSettings, limits: Limits): ParserChild {
  const heap = Math.floor(limits.memoryMegabytes * HEAP_SHARE);
  const node = [process.execPath, `--max-old-space-size=${heap}`, "--no-warnings", PROGRAM, JSON.stringify(settings)];
  const values = [FILE_BLOCKS, limits.memoryMegabytes * 1024, limits.cpuSeconds].map(String);
  const child = spawn("/bin/sh", ["-c", START_LINE, "sh", ...values, ...node], {
    cwd: directory,
    env: ENVIRONMENT,
    stdio: ["pipe", "ignore", "pipe", "pipe"],
    // A group of its own, so that what it starts is killed with it.
    detached: true,
  });
  const { pid } = child;
  const { stdin, stderr: errors } = child;
  const answers: unknown = child.stdio[3];
  if (stdin === null || errors === null || !(answers instanceof Readable)) throw new Error("a child without its pipes");
  let stderr = "";
  let killedFor: KillReason | undefined;
  const limitBytes = limits.memoryMegabytes * 1024 * 1024;
  let peakBytes = 0;
  errors.on("data", (piece: Buffer) => {
    // Its beginning: V8 writes the reason of its end before its own stack.
    if (stderr.length < STDERR_LENGTH) stderr = (stderr + piece.toString()).slice(0, STDERR_LENGTH);
  });
  // A child that is gone does not read: its end is seen by its exit.
  stdin.on("error", () => {});
  const ended = new Promise<Omit<ChildEnd, "wasBusyToTheEnd">>((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, stderr: error.message, wasLarge: false }));
    child.once("exit", (code, signal) => {
      // What it wrote before its end is still read, and a child that was killed writes nothing more.
      const finish = (): void => resolve({ code, signal, stderr, wasLarge: peakBytes > limitBytes * LARGE });
      if (answers.closed) finish();
      else answers.once("close", finish);
    });
  });
  const read = createFrameReader(endingQuietly(answers));

  const kill = (reason: KillReason): void => {
    killedFor ??= reason;
    if (pid !== undefined) killGroup(pid);
    answers.destroy();
  };

  if (pid !== undefined) {
    const watch = watchMemory(pid, (bytes) => {
      peakBytes = Math.max(peakBytes, bytes);
      if (bytes > limitBytes) kill("memory");
    });
    void ended.then(() => clearInterval(watch));
  }
  return {
    pid: pid ?? 0,
    directory,
    send: (request) => void stdin.write(`${JSON.stringify(request)}\n`),
    next: read,
    kill,
    killedFor: () => killedFor,
    ended,
  };
}

/** A pipe that breaks has ended. */
async function* endingQuietly(answers: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const piece of answers) if (Buffer.isBuffer(piece)) yield piece;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ERR_STREAM_PREMATURE_CLOSE" && code !== "ECONNRESET" && code !== "ABORT_ERR") throw error;
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // Gone already.
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ESRCH") throw error;
  }
}

/** Looks at what a process and its descendants have resident, together. */
function watchMemory(pid: number, onSeen: (bytes: number) => void): NodeJS.Timeout {
  let isLooking = false;
  const look = async (): Promise<void> => {
    onSeen(await residentBytes(pid));
  };
  const watch = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  }, WATCH_MS);
  watch.unref();
  return watch;
}

/** Bytes resident in a process and its descendants; 0 for one that is gone. */
export async function residentBytes(pid: number): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, "utf8").catch(ifGone);
  const pages = Number(statm.split(" ")[1] ?? 0);
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    tasks.map(async (task) => await readFile(`/proc/${pid}/task/${task}/children`, "utf8").catch(ifGone)),
  );
  const children = lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
  const below = await Promise.all(children.map(residentBytes));
  return below.reduce((sum, bytes) => sum + bytes, pages * 4096);
}

/** A process may end while it is looked at. */
function ifGone(): string {
  return "";
}
