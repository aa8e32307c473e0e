import { setTimeout as delay } from "node:timers/promises";
import { sandboxToken, secretFingerprint } from "../auth/derive.ts";
import type { PoolOptions } from "./pool-options.ts";
import { beginStart, isOlderThan, startFailures, type SandboxRow } from "./sandbox-rows.ts";
import { SandboxUnavailable } from "./sandboxes.ts";
import { LONGEST_WAIT_MS, startInstance } from "./start-instance.ts";

/** The starts of a pool that this process has begun. */
export interface SandboxStarts {
  /** Starts the next generation, beside the caller, where the row still is as it was found. @returns which one. @throws {SandboxUnavailable} `sandbox_limit` */
  begin(found: SandboxRow): Promise<number>;
  /** Whether a row is `starting` without a process that starts it. */
  isAbandoned(row: SandboxRow): Promise<boolean>;
  /** Until a start of this process is over, or for a while where it is another's. */
  wait(id: string, signal: AbortSignal): Promise<void>;
  /** The end of this process's start of a sandbox, if there is one. */
  ended(id: string): Promise<void> | undefined;
  isClosed(): boolean;
  /** Ends all starts, and waits until they have ended. */
  close(): Promise<void>;
}

/** No generation: there is none below 0. */
export const NO_GENERATION = -1;
const POLL_MS = 250;
/** A start that another process has begun is over after its limit; this much later its process is taken to have ended. */
const STALE_MARGIN_MS = 15_000;

/** @param halt - stops an instance whose place another has taken; it does not throw */
export function createSandboxStarts(
  options: PoolOptions,
  halt: (displaced: SandboxRow) => Promise<void>,
): SandboxStarts {
  const { storage, engine, logger } = options;
  const closing = new AbortController();
  const starts = new Map<string, Promise<void>>();
  const beginnings = new Map<string, Promise<number>>();
  const halts = new Set<Promise<void>>();
  // Who has PGlite is the only process: a start that is not its own is that of one that is gone.
  const isAlone = storage.engine === "pglite";

  async function begin(found: SandboxRow): Promise<number> {
    const other = beginnings.get(found.id);
    if (other !== undefined) {
      // Its caller gets the result; this one looks at the row again.
      await other.catch(() => undefined);
      return NO_GENERATION;
    }
    const beginning = beginNext(found).finally(() => beginnings.delete(found.id));
    beginnings.set(found.id, beginning);
    return beginning;
  }

  async function beginNext(found: SandboxRow): Promise<number> {
    const begun = await beginStart(storage, found, {
      max: options.max,
      spec: { ...engine.spec, token_check: tokenCheck(options.sandboxSecret, found.id, found.generation + 1) },
      staleMs: isAlone ? 0 : staleAfterMs(options),
    });
    if (begun.is === "full") {
      throw new SandboxUnavailable("sandbox_limit", `${options.max} sandboxes run already, and none is idle`);
    }
    if (begun.is === "moved") return NO_GENERATION;
    const { row, displaced } = begun;
    const starting = startInstance({ ...options, signal: closing.signal }, row).finally(() => starts.delete(row.id));
    starts.set(row.id, starting);
    if (displaced === undefined) return row.generation;
    logger.info({ sandboxId: displaced.id, generation: displaced.generation }, "sandbox stopped to make room");
    const halting = halt(displaced).finally(() => halts.delete(halting));
    halts.add(halting);
    return row.generation;
  }

  async function isAbandoned(row: SandboxRow): Promise<boolean> {
    if (starts.has(row.id) || beginnings.has(row.id)) return false;
    if (isAlone) return true;
    const stale = await storage.db
      .selectFrom("sandbox")
      .select("id")
      .where("id", "=", row.id)
      .where("generation", "=", row.generation)
      .where("state", "=", "starting")
      .where(isOlderThan(staleAfterMs(options)))
      .executeTakeFirst();
    return stale !== undefined;
  }

  return {
    begin,
    isAbandoned,
    wait: (id, signal) => settled(starts.get(id), signal),
    ended: (id) => starts.get(id),
    isClosed: () => closing.signal.aborted,
    async close() {
      closing.abort(new Error("the service is stopping"));
      await Promise.allSettled([...starts.values(), ...halts]);
    },
  };
}

/** A row that has been `starting` for longer than this has no process that starts it. */
export function staleAfterMs({ startMs }: Pick<PoolOptions, "startMs">): number {
  return startMs + STALE_MARGIN_MS;
}

/** Shows whether two tokens are the same, and nothing else about them. */
export function tokenCheck(sandboxSecret: string, id: string, generation: number): string {
  return secretFingerprint(sandboxToken(sandboxSecret, id, generation));
}

/**
 * Refuses a start too soon after one that failed.
 *
 * @param awaited - the generation whose start this caller has waited for
 * @throws {SandboxUnavailable}
 */
export function assertMayStart(row: SandboxRow, awaited: number): void {
  const failed = startFailures(row);
  if (failed === undefined) return;
  if (row.generation === awaited)
    throw new SandboxUnavailable(
      failed.is_engine_away ? "executor_unreachable" : "sandbox_start_failed",
      failed.message,
    );
  const waitMs = Date.parse(failed.retry_at) - Date.now();
  if (waitMs <= 0 || waitMs > LONGEST_WAIT_MS) return;
  throw new SandboxUnavailable(
    "sandbox_start_failed",
    `${failed.failures} starts in a row failed, the next is tried after ${failed.retry_at}: ${failed.message}`,
  );
}

async function settled(start: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  if (start === undefined) await delay(POLL_MS, undefined, { signal });
  else await Promise.race([start, untilAborted(signal)]);
}

/** A stop of the service ends every attempt by its own signal, whose reason decides what becomes of the run. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
