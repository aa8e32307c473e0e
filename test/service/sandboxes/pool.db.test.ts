import { describe, expect, test } from "vitest";
import { sandboxToken } from "../../../src/service/auth/derive.ts";
import { SandboxUnavailable } from "../../../src/service/sandboxes/sandboxes.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { never, openThread, rowOf, SANDBOX_SECRET, setUpPool, testPool } from "../harness/pool.ts";
import { startScriptedEngine } from "../harness/scripted-engine.ts";
import { ENGINES, freshStorage, shareStorage } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  const storageOf = shareStorage(kind);

  test("twenty who want a thread's sandbox at once get one start, with the token of its generation", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const got = await Promise.all(Array.from({ length: 20 }, () => pool.acquire(thread.scope, never)));
    expect(new Set(got.map(({ id, generation }) => `${id} ${generation}`)).size).toBe(1);
    expect(scripted.launches).toEqual([{ id: got[0]?.id, generation: 1 }]);
    // Another token would be refused.
    expect(await got[0]?.client.executors()).toEqual([]);
    const row = await rowOf(storage, thread);
    expect(row).toMatchObject({
      state: "ready",
      generation: 1,
      kind: "docker",
      volume: `svc-${got[0]?.id}`,
      error: null,
    });
    expect(JSON.stringify(row)).not.toContain(sandboxToken(SANDBOX_SECRET, got[0]?.id ?? "", 1));
  });

  test("after another SERVICE_SANDBOX_SECRET a sandbox that runs is stopped, and the next generation has its volume", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const first = await pool.acquire(thread.scope, never);
    await pool.close();
    const sandboxSecret = "another-sandbox-secret-0123456789abcdef";
    const changed = testPool({ storage, engine: scripted.engine, sandboxSecret });
    const [next, same] = await Promise.all([
      changed.acquire(thread.scope, never),
      changed.acquire(thread.scope, never),
    ]);
    for (const each of [next, same]) expect(each).toMatchObject({ id: first.id, generation: 2 });
    expect(await next.client.executors()).toEqual([]);
    expect(scripted.running()).toEqual([{ id: first.id, generation: 2 }]);
    expect(scripted.launches).toHaveLength(2);
    expect(scripted.violations).toEqual([]);
  });

  test("another thread has another sandbox; a user's threads share one where the scope is the user", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const other = await openThread(storage);
    const [first, second] = [await pool.acquire(thread.scope, never), await pool.acquire(other.scope, never)];
    expect(first.id).not.toBe(second.id);
    const shared = testPool({ storage, engine: scripted.engine, scope: "user" });
    const [mine, too, others] = await Promise.all([
      shared.acquire(thread.scope, never),
      shared.acquire({ ...thread.scope, threadPk: other.scope.threadPk }, never),
      shared.acquire(other.scope, never),
    ]);
    expect(mine.id).toBe(too.id);
    expect(mine.id).not.toBe(others.id);
  });

  test("at the limit the one idle for longest makes room; where none is idle there is none to be had", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf(), { max: 2 });
    const [second, third, fourth] = [await openThread(storage), await openThread(storage), await openThread(storage)];
    const first = await pool.acquire(thread.scope, never);
    await second.begin();
    const busy = await pool.acquire(second.scope, never);
    await third.begin();
    const last = await pool.acquire(third.scope, never);
    await waitFor("the idle one's end", () => scripted.running().length === 2);
    expect(scripted.running().map(({ id }) => id)).toEqual([busy.id, last.id]);
    expect(await rowOf(storage, thread)).toMatchObject({ id: first.id, state: "stopped" });
    await fourth.begin();
    await expect(pool.acquire(fourth.scope, never)).rejects.toEqual(
      new SandboxUnavailable("sandbox_limit", "2 sandboxes run already, and none is idle"),
    );
    await second.end();
    expect(await pool.acquire(fourth.scope, never)).toMatchObject({ generation: 1 });
    await waitFor("the idle one's end", () => scripted.running().length === 2);
    expect(await rowOf(storage, second)).toMatchObject({ state: "stopped" });
  });
});

test("two services on PostgreSQL race for starts, stops and places: one start at a time, never too many", async () => {
  const storage = await freshStorage("postgres");
  const scripted = await startScriptedEngine();
  const pools = [1, 2].map(() => testPool({ storage, engine: scripted.engine, max: 3, idleMs: 0 }));
  const threads = await Promise.all(Array.from({ length: 6 }, () => openThread(storage)));
  const places: number[] = [];
  const rounds = Array.from({ length: 5 }).flatMap(() =>
    threads.flatMap((thread) =>
      pools.map(async (pool) => {
        const got = await pool.acquire(thread.scope, never).catch((error: unknown) => {
          if (error instanceof SandboxUnavailable && error.reason === "sandbox_limit") return undefined;
          throw error;
        });
        if (got === undefined) return;
        places.push(await activeRows(storage));
        await pool.quiesce(got.id);
        await pool.stop(got.id, got.generation);
      }),
    ),
  );
  await Promise.all([...rounds, ...pools.map((pool) => pool.sweep())]);
  await waitFor("all halted", async () => {
    for (const pool of pools) await pool.sweep();
    return scripted.running().length === 0;
  });
  expect(scripted.violations).toEqual([]);
  const starts = scripted.launches.map(({ id, generation }) => `${id} ${generation}`);
  expect(new Set(starts).size).toBe(starts.length);
  expect(Math.max(...places)).toBeLessThanOrEqual(3);
  expect(Math.max(...places)).toBeGreaterThan(0);
});

async function activeRows(storage: Storage): Promise<number> {
  const rows = await storage.db
    .selectFrom("sandbox")
    .select("id")
    .where("state", "in", ["starting", "ready", "quiescing"])
    .execute();
  return rows.length;
}
