import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ParserChild } from "./limits.ts";

/** Files that one child reads before another takes its place. */
const MAX_USES = 50;
/** Most children that wait for work. */
const MAX_WARM = 2;

/** Children that wait for work, and those that have some. */
export interface ChildPool {
  /** A child for one request; waits while all are busy. @throws the signal's reason */
  acquire(signal: AbortSignal): Promise<LentChild>;
  /** Kills all and waits for their end. Safe to call twice. */
  close(): Promise<void>;
}

/** A child that is the caller's until it is given back, once. */
export interface LentChild {
  readonly child: ParserChild;
  /** Given back for another file. */
  release(): Promise<void>;
  /** Killed; a new one takes its place. Resolves when it is gone. */
  discard(): Promise<void>;
}

/** What one child has done. */
interface Member {
  readonly child: ParserChild;
  uses: number;
}

/**
 * Keeps children. None is started before the first request; from then on up to two wait for work.
 *
 * @param start - starts a child in a directory of its own
 */
export function createChildPool(options: {
  readonly directory: string;
  readonly size: number;
  start(directory: string): ParserChild;
}): ChildPool {
  const { directory, size, start } = options;
  const idle: Member[] = [];
  const all = new Set<Member>();
  const waiting: (() => void)[] = [];
  const leaving = new Set<Promise<unknown>>();
  let lent = 0;
  let isClosed = false;

  async function startMember(): Promise<Member> {
    const own = await mkdtemp(join(directory, "parse-"));
    const member = { child: start(own), uses: 0 };
    all.add(member);
    track(forgetOnceEnded(member, own));
    if (isClosed) member.child.kill("retired");
    return member;
  }

  async function forgetOnceEnded(member: Member, own: string): Promise<void> {
    await member.child.ended;
    all.delete(member);
    const at = idle.indexOf(member);
    if (at !== -1) idle.splice(at, 1);
    await rm(own, { recursive: true, force: true });
  }

  function track(work: Promise<unknown>): void {
    leaving.add(work);
    void work.finally(() => leaving.delete(work));
  }

  /** Starts what will be needed next, while no caller waits for it. */
  function warm(): void {
    if (isClosed || idle.length + lent >= Math.min(size, MAX_WARM)) return;
    track(addIdle());
  }

  async function addIdle(): Promise<void> {
    const member = await startMember();
    if (all.has(member)) idle.push(member);
  }

  async function acquire(signal: AbortSignal): Promise<LentChild> {
    signal.throwIfAborted();
    while (lent >= size) await turn(signal);
    assertOpen();
    lent += 1;
    try {
      return lend(idle.pop() ?? (await startMember()));
    } catch (error) {
      give();
      throw error;
    }
  }

  function lend(member: Member): LentChild {
    member.uses += 1;
    let isBack = false;
    const back = async (isWhole: boolean): Promise<void> => {
      if (isBack) return;
      isBack = true;
      try {
        if (isWhole && member.uses < MAX_USES && !isClosed && member.child.killedFor() === undefined) {
          await empty(member.child.directory);
          idle.push(member);
        } else {
          member.child.kill("retired");
          await member.child.ended;
        }
      } finally {
        give();
        warm();
      }
    };
    return { child: member.child, release: async () => await back(true), discard: async () => await back(false) };
  }

  function give(): void {
    lent -= 1;
    waiting.shift()?.();
  }

  async function turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      const at = waiting.indexOf(resolve);
      if (at !== -1) waiting.splice(at, 1);
      reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
    };
    waiting.push(resolve);
    signal.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
    assertOpen();
  }

  function assertOpen(): void {
    if (isClosed) throw new Error("the parser is closed");
  }

  return {
    acquire,
    async close() {
      isClosed = true;
      for (const { child } of all) child.kill("retired");
      for (const wake of waiting.splice(0)) wake();
      while (leaving.size > 0) await Promise.allSettled(leaving);
    },
  };
}

/** Removes what a file left behind. */
async function empty(directory: string): Promise<void> {
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true, force: true });
}
