import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createSandboxPool, type SandboxPool } from "../../../src/service/sandboxes/pool.ts";
import type { PoolOptions } from "../../../src/service/sandboxes/pool-options.ts";
import type { SandboxScope } from "../../../src/service/sandboxes/sandboxes.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { openRunDesk, outcomeOf, type RunDesk } from "./run-desk.ts";
import { startScriptedEngine } from "./scripted-engine.ts";

export const SANDBOX_SECRET = "test-sandbox-secret-0123456789abcdef";

/** A pool of a service's own; the engine may be that of several. */
export function testPool(
  options: Pick<PoolOptions, "storage" | "engine"> & Partial<Omit<PoolOptions, "storage" | "engine">>,
): SandboxPool {
  const pool = createSandboxPool({
    logger: pino({ level: process.env["SVC_TEST_LOG"] ?? "silent" }),
    scope: "thread",
    sandboxSecret: SANDBOX_SECRET,
    max: 50,
    idleMs: 600_000,
    startMs: 20_000,
    ...options,
  });
  onTestFinished(() => pool.close());
  return pool;
}

/** A pool on a scripted engine, and a thread; no other sandbox is in the storage, which tests may share. */
export async function setUpPool(storage: Storage, options: Partial<Parameters<typeof testPool>[0]> = {}) {
  await storage.db.deleteFrom("sandbox").execute();
  const scripted = await startScriptedEngine();
  const thread = await openThread(storage);
  const pool = testPool({ storage, engine: scripted.engine, ...options });
  return { storage, scripted, thread, pool };
}

/** A thread whose runs a test begins and ends. */
export interface TestThread {
  readonly desk: RunDesk;
  readonly scope: SandboxScope;
  /** Begins a run, which stays open. */
  begin(): Promise<void>;
  /** Ends it. */
  end(): Promise<void>;
}

export async function openThread(storage: Storage): Promise<TestThread> {
  const desk = await openRunDesk(storage);
  const { session_id } = await storage.db
    .selectFrom("thread")
    .select("session_id")
    .where("pk", "=", desk.threadPk)
    .executeTakeFirstOrThrow();
  return {
    desk,
    scope: { threadPk: desk.threadPk, sessionId: session_id, userId: desk.actor.caller.userId, sandboxId: null },
    async begin() {
      await desk.submit(randomUUID(), "enqueue");
    },
    async end() {
      for (const { id, ended_at } of await desk.runRows()) {
        const owner = ended_at === null ? await desk.claim(id) : undefined;
        if (owner !== undefined) await desk.finish(owner, outcomeOf("completed"));
      }
    },
  };
}

/** The row of a thread's sandbox. */
export async function rowOf(storage: Storage, { scope }: TestThread) {
  return storage.db
    .selectFrom("sandbox")
    .selectAll()
    .where("scope_key", "=", `thread:${scope.threadPk}`)
    .executeTakeFirst();
}

export const never = new AbortController().signal;
