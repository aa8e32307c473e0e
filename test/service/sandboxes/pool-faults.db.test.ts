import { sql } from "kysely";
import { v7 as uuid7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { never, rowOf, setUpPool } from "../harness/pool.ts";
import { ENGINES, shareStorage } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  const storageOf = shareStorage(kind);

  test("an engine that is away keeps a removal from being done, and the next one does it", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    await pool.acquire(thread.scope, never);
    scripted.isAway = true;
    await expect(pool.removeThread(thread.scope, never)).rejects.toThrow("away");
    expect(await rowOf(storage, thread)).toMatchObject({ state: "deleting" });
    scripted.isAway = false;
    await pool.removeThread(thread.scope, never);
    expect([scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], undefined]);
  });

  test("a start that fails is reported with the engine's last lines; after three in a row the next waits 1, 5, 15 minutes", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const waits: number[] = [];
    for (let failure = 1; failure <= 6; failure += 1) {
      scripted.failNext("no such luck");
      await expect(pool.acquire(thread.scope, never)).rejects.toMatchObject({
        reason: "sandbox_start_failed",
        message: `no such luck: the last line of generation ${failure}`,
      });
      const { error, state } = (await rowOf(storage, thread)) ?? {};
      expect(state).toBe("failed");
      const { retry_at } = error as { retry_at: string };
      const waitMs = Date.parse(retry_at) - Date.now();
      waits.push(Math.max(0, Math.ceil(waitMs / 60_000)));
      if (waitMs <= 0) continue;
      await expect(pool.acquire(thread.scope, never)).rejects.toThrow(`${failure} starts in a row failed`);
      vi.setSystemTime(Date.parse(retry_at));
    }
    vi.useRealTimers();
    expect(waits).toEqual([0, 0, 1, 5, 15, 15]);
    expect(scripted.launches).toHaveLength(6);
    expect(scripted.running()).toEqual([]);
    // As after a clock that went back an hour: nothing waits until it has caught up.
    const retryAt = JSON.stringify(new Date(Date.now() + 3_600_000));
    await storage.db
      .updateTable("sandbox")
      .set({ error: sql`jsonb_set(error, '{retry_at}', ${retryAt}::text::jsonb)` })
      .execute();
    expect((await pool.acquire(thread.scope, never)).generation).toBe(7);
    expect(await rowOf(storage, thread)).toMatchObject({ state: "ready", error: null });
  });

  test("one that does not become ready in time has failed, and is removed", async () => {
    const { scripted, thread, pool } = await setUpPool(storageOf(), { startMs: 1_000 });
    scripted.holdReady(new Promise(() => undefined));
    await expect(pool.acquire(thread.scope, never)).rejects.toThrow("it was not ready within 1000 ms");
    expect(scripted.running()).toEqual([]);
  });

  test("one that is gone without our doing is resumed, also under a client that was using it", async () => {
    const { scripted, thread, pool } = await setUpPool(storageOf());
    await thread.begin();
    const first = await pool.acquire(thread.scope, never);
    scripted.die(first.id);
    await pool.sweep();
    // The connection breaks; the same client's next try reaches the generation that took over.
    await expect(first.client.executors()).rejects.toThrow("turnd GET /v1/executors");
    expect(await first.client.executors()).toEqual([]);
    expect(scripted.running()).toEqual([{ id: first.id, generation: 2 }]);
    expect((await pool.acquire(thread.scope, never)).generation).toBe(2);
  });

  test("an engine that does not answer loses nothing: the row's sandbox goes on", async () => {
    const { scripted, thread, pool } = await setUpPool(storageOf(), { idleMs: 0 });
    const first = await pool.acquire(thread.scope, never);
    scripted.isAway = true;
    expect((await pool.acquire(thread.scope, never)).generation).toBe(1);
    await expect(pool.sweep()).rejects.toThrow("the engine is away");
    expect(await pool.look()).toEqual({ ok: false, message: "away" });
    await pool.stop(first.id, 1);
    scripted.isAway = false;
    // It was stopped by its row, and runs on: the sweep ends it.
    expect(scripted.running()).toHaveLength(1);
    await pool.sweep();
    expect(scripted.running()).toEqual([]);
  });

  test("a start while the engine is away does not count as one that failed, and the first after it succeeds", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    scripted.isAway = true;
    for (let tries = 0; tries < 5; tries += 1) {
      await expect(pool.acquire(thread.scope, never)).rejects.toMatchObject({
        reason: "executor_unreachable",
        message: `the sandbox engine does not answer: the engine is away: the last line of generation ${tries + 1}`,
      });
    }
    scripted.isAway = false;
    expect((await pool.acquire(thread.scope, never)).generation).toBe(6);
    expect(await rowOf(storage, thread)).toMatchObject({ state: "ready", error: null });
  });

  test("one that a person has started again is found where it answers now, also by a client that was using it", async () => {
    const { scripted, thread, pool } = await setUpPool(storageOf());
    const first = await pool.acquire(thread.scope, never);
    scripted.move(first.id);
    await expect(first.client.executors()).rejects.toThrow("turnd GET /v1/executors");
    expect(await first.client.executors()).toEqual([]);
    const again = await pool.acquire(thread.scope, never);
    expect(await again.client.executors()).toEqual([]);
    expect([again.generation, scripted.launches.length]).toEqual([1, 1]);
  });

  test("an engine that does not answer delays neither a start beyond its limit nor a probe", async () => {
    const { scripted, thread, pool } = await setUpPool(storageOf(), { startMs: 1_000 });
    scripted.isSilent = true;
    expect(await pool.look()).toEqual({ ok: false, message: "the sandbox engine does not answer" });
    await expect(pool.acquire(thread.scope, never)).rejects.toThrow("it was not ready within 1000 ms");
    scripted.isSilent = false;
    expect(await pool.look()).toEqual({ ok: true });
    expect((await pool.acquire(thread.scope, never)).generation).toBe(2);
  });

  test("a start whose process was killed is taken over by the next that needs it, or ended by the sweep", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf(), { startMs: 1_000 });
    const id = uuid7();
    const old = { updated_at: sql<Date>`now() - interval '1 hour'` };
    await storage.db
      .insertInto("sandbox")
      .values({
        id,
        kind: "docker",
        scope_key: `thread:${thread.scope.threadPk}`,
        state: "starting",
        generation: 4,
        ...old,
      })
      .execute();
    scripted.leave({ id, generation: 4 });
    expect(await pool.acquire(thread.scope, never)).toMatchObject({ id, generation: 5 });
    expect(scripted.running()).toEqual([{ id, generation: 5 }]);
    expect(scripted.violations).toEqual([]);
    for (const state of ["starting", "quiescing"] as const) {
      await storage.db
        .updateTable("sandbox")
        .set({ state, ...old })
        .execute();
      await pool.sweep();
      expect(await rowOf(storage, thread)).toMatchObject({ state: "stopped" });
      expect(scripted.running()).toEqual([]);
      await pool.acquire(thread.scope, never);
    }
  });
});
