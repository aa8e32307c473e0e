import { sandboxToken } from "../auth/derive.ts";
import { createFollowingClient } from "./following-client.ts";
import { deleteSession } from "./delete-session.ts";
import { ensureRow, isIdleFor, moveRow, type Condition, type FoundState, type SandboxRow } from "./sandbox-rows.ts";
import { orAborted } from "./or-aborted.ts";
import { SandboxUnavailable, type Sandbox, type Sandboxes, type SandboxScope } from "./sandboxes.ts";
import {
  assertMayStart,
  createSandboxStarts,
  NO_GENERATION,
  staleAfterMs,
  tokenCheck,
  untilAborted,
} from "./sandbox-starts.ts";
import { sweepSandboxes } from "./sweep.ts";
import type { PoolOptions } from "./pool-options.ts";

/** Sandboxes of their own, and what an operator or a sweep does with them. */
export interface SandboxPool extends Sandboxes {
  /** Marks one as about to be stopped, if it is idle; an `acquire` takes it back. @returns whether it is marked */
  quiesce(id: string): Promise<boolean>;
  /** Stops one; its volume stays. @returns false for an older generation than the present one, which goes on */
  stop(id: string, generation: number): Promise<boolean>;
  /** Removes one with its volume. Safe to repeat. */
  destroy(id: string): Promise<void>;
}

/** An engine that answers does so in milliseconds. */
const FIND_MS = 10_000;
/** Shorter than probes wait. */
const LOOK_MS = 3_000;

/** Sandboxes that are started when a run needs one and stopped when none does; the rows decide, on every process alike. */
export function createSandboxPool(options: PoolOptions): SandboxPool {
  const { storage, engine, logger } = options;
  const starts = createSandboxStarts(options, halt);
  const find = (id: string) => storage.db.selectFrom("sandbox").selectAll().where("id", "=", id).executeTakeFirst();

  async function acquireRow(scopeKey: string, signal: AbortSignal): Promise<SandboxRow> {
    let awaited = NO_GENERATION;
    for (;;) {
      if (starts.isClosed()) await untilAborted(signal);
      signal.throwIfAborted();
      const row = await ensureRow(storage, { kind: engine.kind, scopeKey });
      switch (row.state) {
        case "ready": {
          const used = await moveRow(storage.db, row, { state: "ready", isUse: true });
          if (used === undefined) break;
          if (!hasOurToken(used)) {
            logger.warn({ sandboxId: row.id, generation: row.generation }, "sandbox has a token of another secret");
            await stopFound(used);
            break;
          }
          const address = await addressNow(used);
          if (address === used.address) return used;
          // Gone without our doing: the next generation goes on with its volume. One that a person has started again has moved.
          await moveRow(storage.db, used, address === undefined ? { state: "stopped" } : { state: "ready", address });
          break;
        }
        case "quiescing":
          await moveRow(storage.db, row, { state: "ready", isUse: true });
          break;
        case "starting":
          awaited = row.generation;
          if (await starts.isAbandoned(row)) awaited = await starts.begin(row);
          else await starts.wait(row.id, signal);
          break;
        case "failed":
          assertMayStart(row, awaited);
          awaited = await starts.begin(row);
          break;
        case "stopped":
          awaited = await starts.begin(row);
          break;
        case "deleting":
          throw new SandboxUnavailable("executor_unavailable", `the sandbox ${row.id} is being removed`);
      }
    }
  }

  /** Whether it was started with the SERVICE_SANDBOX_SECRET of now: one of another secret refuses every call of ours. */
  function hasOurToken({ id, generation, spec }: SandboxRow): boolean {
    const known = spec["token_check"];
    return known === undefined || known === tokenCheck(options.sandboxSecret, id, generation);
  }

  /** Where it answers; undefined: it does not run. From an engine that does not answer nothing follows about its instances. */
  async function addressNow({ id, generation, address }: SandboxRow): Promise<string | null | undefined> {
    try {
      return await orAborted(engine.find({ id, generation }), AbortSignal.timeout(FIND_MS));
    } catch (error) {
      logger.warn({ err: error, sandboxId: id }, "the sandbox engine does not answer");
      return address;
    }
  }

  async function halt({ id, generation }: Pick<SandboxRow, "id" | "generation">): Promise<void> {
    // The sweep tries again: by the row, nothing of this generation may run.
    await engine
      .halt({ id, generation })
      .catch((error: unknown) => logger.warn({ err: error, sandboxId: id, generation }, "sandbox not stopped"));
  }

  async function quiesce(id: string, idleMs = 0): Promise<SandboxRow | undefined> {
    const row = await find(id);
    if (row?.state !== "ready") return undefined;
    return moveRow(storage.db, row, { state: "quiescing" }, isIdleFor(idleMs));
  }

  /** From exactly the state it was found in. @returns whether it is stopped */
  async function stopFound(found: FoundState, more?: Condition): Promise<boolean> {
    // The row first: from here on nothing uses this generation, so its end disturbs no client.
    const stopped = await moveRow(storage.db, found, { state: "stopped" }, more);
    if (stopped === undefined) return false;
    await halt(stopped);
    return true;
  }

  async function stop(id: string, generation: number): Promise<boolean> {
    for (const state of ["ready", "quiescing", "starting"] as const) {
      if (await stopFound({ id, generation, state })) return true;
    }
    return (await find(id))?.generation === generation;
  }

  async function destroy(id: string): Promise<void> {
    for (let row = await find(id); row !== undefined; row = await find(id)) {
      const deleting = row.state === "deleting" ? row : await moveRow(storage.db, row, { state: "deleting" });
      if (deleting === undefined) continue;
      await starts.ended(id);
      await engine.remove(id);
      await storage.db.deleteFrom("sandbox").where("id", "=", id).where("state", "=", "deleting").execute();
    }
  }

  function toSandbox(row: SandboxRow, scopeKey: string): Sandbox {
    const { id, generation } = row;
    return {
      id,
      generation,
      client: createFollowingClient(placeOf(row), async (signal) => placeOf(await acquireRow(scopeKey, signal))),
    };
  }

  function placeOf({ id, generation, address }: SandboxRow) {
    if (address === null) throw new Error(`the sandbox ${id} is ready without an address`);
    return { baseUrl: address, token: sandboxToken(options.sandboxSecret, id, generation) };
  }

  return {
    kind: engine.kind,
    isShared: false,
    async acquire(scope, signal) {
      const scopeKey = keyOf(options.scope, scope);
      // A start that has begun goes on: the next that needs the sandbox finds it.
      return toSandbox(await orAborted(acquireRow(scopeKey, signal), signal), scopeKey);
    },
    prepareWorkspace: async () => undefined,
    async removeThread(scope, signal) {
      const scopeKey = keyOf(options.scope, scope);
      const row = await storage.db
        .selectFrom("sandbox")
        .select("id")
        .where("scope_key", "=", scopeKey)
        .executeTakeFirst();
      // No sandbox was ever made for it, or it is removed already.
      if (row === undefined) return;
      if (options.scope === "thread") await destroy(row.id);
      else await deleteSession(toSandbox(await acquireRow(scopeKey, signal), scopeKey).client, scope.sessionId, signal);
    },
    quiesce: async (id) => (await quiesce(id)) !== undefined,
    stop,
    destroy,
    sweep: () => sweepSandboxes({ ...options, staleMs: staleAfterMs(options) }, { quiesce, stopFound, destroy, halt }),
    look: () =>
      orAborted(engine.look(), AbortSignal.timeout(LOOK_MS)).catch(() => ({
        ok: false,
        message: "the sandbox engine does not answer",
      })),
    close: () => starts.close(),
  };
}

function keyOf(scope: PoolOptions["scope"], { threadPk, userId }: SandboxScope): string {
  return scope === "thread" ? `thread:${threadPk}` : `user:${userId}`;
}
