import { spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { CommandGroup } from "./cgroup/cgroup.ts";
import { ResourcesExhaustedError, throwIfExhausted } from "./exhausted.ts";
import type { RunAs } from "./run-as.ts";

export interface UserProcessOptions {
  readonly runAs: RunAs;
  readonly env?: Readonly<Record<string, string>>;
  /** Entered by turnd itself: only a descriptor (`/proc/self/fd/…`) is safe here, where no link of that user can be. */
  readonly cwd?: string;
  /** A group that the task is in, and nothing else of that user: it opens what no tool can enter. */
  readonly accessGroup?: number | undefined;
  /** The control group that the task enters before it does anything; absent: it stays in turnd's. */
  readonly group?: CommandGroup;
}

/** One task that is done as the CLIs' user, with all that comes of it. */
export interface UserProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * Resolves when nothing of it is left, with its exit code; null where a signal ended it, or it was ended. One that the
   * kernel does not let go is waited for a while after `end`.
   *
   * @throws {ResourcesExhaustedError} if it could get no process
   */
  readonly ended: Promise<number | null>;
  /** Ends it with everything that it has started. */
  end(): void;
}

const PERL = "/usr/bin/perl";
/** For what waits in the kernel, for a disk for example: `sandbox/helper` goes on ending it, and nothing waits for that. */
const END_LIMIT_MS = 30_000;
const NO_PROCESS = "no process";

/**
 * Starts a task of `sandbox/helper`. The only way in which turnd does anything as the CLIs' user, besides its starter and the
 * keepers: a tool of that user can neither look into the task nor make it leave a process behind, and all of it ends with
 * turnd, however that ends. Law: nothing outlives its turn.
 */
export function startAsUser(task: readonly string[], options: UserProcessOptions): UserProcess {
  const { runAs, env = {}, cwd = "/", group, accessGroup } = options;
  const access = accessGroup === undefined ? [] : ["--access", `${accessGroup}`];
  const groups = group?.directories.flatMap((path) => ["--group", path]) ?? [];
  const args = [runAs.helper, `${runAs.uid}`, `${runAs.gid}`, ...access, ...groups, ...task];
  // A session of its own: no signal of turnd's terminal ends the helper before what it has to end.
  const child = spawn(PERL, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe", "pipe"] });
  const [, , , socket] = child.stdio;
  if (!(socket instanceof Socket)) throw new Error("the socket of a helper is none");
  // Their end is known by the helper's.
  for (const stream of [child.stdin, child.stdout, child.stderr, socket]) stream.on("error", () => undefined);
  let answer = "";
  socket.on("data", (bytes: Buffer) => void (answer += bytes.toString("latin1")));

  let timer: NodeJS.Timeout | undefined;
  let giveUp: (() => void) | undefined;
  const gone = new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve("code" in error ? String(error.code) : error.message));
    socket.once("close", () => {
      if (child.exitCode !== null || child.signalCode !== null) resolve(undefined);
      else child.once("exit", () => resolve(undefined));
    });
    giveUp = () => {
      child.unref();
      resolve(undefined);
    };
  });
  const ended = gone.then((code) => {
    clearTimeout(timer);
    throwIfExhausted(code);
    if (answer === NO_PROCESS) throw new ResourcesExhaustedError("the sandbox has reached its limit of processes");
    const exit = /^exited (\d+)$/.exec(answer)?.[1];
    return exit === undefined ? null : Number(exit);
  });
  // Whoever started it awaits it behind what it prints.
  ended.catch(() => undefined);
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    end() {
      if (giveUp !== undefined) timer ??= setTimeout(giveUp, END_LIMIT_MS);
      socket.destroy();
    },
  };
}
