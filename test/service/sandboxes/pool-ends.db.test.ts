import { sql } from "kysely";
import { v7 as uuid7 } from "uuid";
import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { oneTurnd } from "../harness/one-turnd.ts";
import { never, openThread, rowOf, setUpPool, testPool } from "../harness/pool.ts";
import { ENGINES, shareStorage } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  const storageOf = shareStorage(kind);

  test("what a deleted thread left goes with its sandbox, also while that starts; twice and of none is right", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    await pool.removeThread(thread.scope, never);
    expect(await rowOf(storage, thread)).toBeUndefined();
    await pool.acquire(thread.scope, never);
    expect(scripted.volumes()).toHaveLength(1);
    await pool.removeThread(thread.scope, never);
    expect([scripted.running(), scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], [], undefined]);
    const { promise, resolve } = Promise.withResolvers<void>();
    scripted.holdReady(promise);
    const giveUp = new AbortController();
    const starting = pool.acquire(thread.scope, giveUp.signal);
    await waitFor("the start", () => scripted.launches.length === 2);
    giveUp.abort(new Error("handed over"));
    await expect(starting).rejects.toThrow("handed over");
    const removed = Promise.all([pool.removeThread(thread.scope, never), pool.removeThread(thread.scope, never)]);
    await waitFor("the removal", async () => (await rowOf(storage, thread))?.state === "deleting");
    resolve();
    await removed;
    expect([scripted.running(), scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], [], undefined]);
    scripted.isAway = true;
    await pool.removeThread(thread.scope, never);
  });

  test("of a user's sandbox a deleted thread loses its session alone, which twice is right", async () => {
    const turnd = await fakeDaemon();
    const { engine } = oneTurnd(turnd.url);
    const storage = storageOf();
    const [thread, other] = [await openThread(storage), await openThread(storage)];
    const pool = testPool({ storage, engine, scope: "user" });
    const { client, id } = await pool.acquire(thread.scope, never);
    for (const { scope } of [thread, other])
      await client.createSession({ executor: "cli-b", session_id: scope.sessionId });
    for (const _ of [1, 2]) await pool.removeThread(thread.scope, never);
    const { body } = await turnd.request("GET", "/v1/sessions");
    expect(body.sessions).toMatchObject([{ session_id: other.scope.sessionId }]);
    expect(await pool.acquire(thread.scope, never)).toMatchObject({ id, generation: 1 });
  });

  test("an idle one is stopped with its volume kept, and resumed as the next generation on it", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf(), { idleMs: 0 });
    await thread.begin();
    const first = await pool.acquire(thread.scope, never);
    await pool.sweep();
    // Its run is open.
    expect(scripted.running()).toEqual([{ id: first.id, generation: 1 }]);
    await thread.end();
    await pool.sweep();
    expect(scripted.running()).toEqual([]);
    expect(scripted.volumes()).toEqual([first.id]);
    expect(await rowOf(storage, thread)).toMatchObject({ state: "stopped", generation: 1 });
    const next = await pool.acquire(thread.scope, never);
    expect([next.id, next.generation]).toEqual([first.id, 2]);
    expect(scripted.violations).toEqual([]);
  });

  test("idle is counted from the end of the last run, not from its beginning", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf(), { idleMs: 60_000 });
    await thread.begin();
    await pool.acquire(thread.scope, never);
    await storage.db
      .updateTable("sandbox")
      .set({ last_used_at: sql<Date>`now() - interval '1 hour'` })
      .execute();
    await pool.sweep();
    await thread.end();
    await pool.sweep();
    expect(scripted.running()).toHaveLength(1);
    await storage.db
      .updateTable("sandbox")
      .set({ last_used_at: sql<Date>`now() - interval '61 seconds'` })
      .execute();
    await pool.sweep();
    expect(scripted.running()).toEqual([]);
  });

  test("an acquire takes one back that is about to be stopped", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const first = await pool.acquire(thread.scope, never);
    expect(await pool.quiesce(first.id)).toBe(true);
    expect(await rowOf(storage, thread)).toMatchObject({ state: "quiescing" });
    const again = await pool.acquire(thread.scope, never);
    expect(again.generation).toBe(1);
    expect(await rowOf(storage, thread)).toMatchObject({ state: "ready" });
    expect(scripted.launches).toHaveLength(1);
    await thread.begin();
    expect(await pool.quiesce(first.id)).toBe(false);
  });

  test("a stop of an older generation is refused", async () => {
    const { scripted, thread, pool } = await setUpPool(storageOf());
    const first = await pool.acquire(thread.scope, never);
    expect(await pool.stop(first.id, 1)).toBe(true);
    expect(await pool.stop(first.id, 1)).toBe(true);
    const second = await pool.acquire(thread.scope, never);
    expect(second.generation).toBe(2);
    expect(await pool.stop(first.id, 1)).toBe(false);
    expect(scripted.running()).toEqual([{ id: first.id, generation: 2 }]);
    expect(await pool.stop(uuid7(), 1)).toBe(false);
  });

  test("the sweep removes what has no row, volumes only after a day", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const mine = await pool.acquire(thread.scope, never);
    const orphan = { id: uuid7(), generation: 3 };
    scripted.leave(orphan);
    scripted.leave({ id: mine.id, generation: 0 });
    await pool.sweep();
    expect(scripted.running()).toEqual([{ id: mine.id, generation: 1 }]);
    expect(scripted.volumes()).toEqual([mine.id, orphan.id]);
    const later = testPool({ storage, engine: scripted.engine, orphanVolumeMs: -1 });
    await later.sweep();
    expect(scripted.volumes()).toEqual([mine.id]);
    expect(scripted.running()).toEqual([{ id: mine.id, generation: 1 }]);
  });

  test("a removed one is gone with its volume, whatever it was doing, and a half removal is ended by the sweep", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const first = await pool.acquire(thread.scope, never);
    await pool.destroy(first.id);
    await pool.destroy(first.id);
    expect([scripted.running(), scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], [], undefined]);
    const second = await pool.acquire(thread.scope, never);
    expect([second.generation, second.id === first.id]).toEqual([1, false]);
    await storage.db.updateTable("sandbox").set({ state: "deleting" }).execute();
    await expect(pool.acquire(thread.scope, never)).rejects.toMatchObject({ reason: "executor_unavailable" });
    await pool.sweep();
    expect([scripted.running(), scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], [], undefined]);
  });

  test("a service that stops gives its starts back, and leaves what runs running", async () => {
    const { storage, scripted, thread, pool } = await setUpPool(storageOf());
    const other = await openThread(storage);
    await pool.acquire(thread.scope, never);
    scripted.holdReady(new Promise(() => undefined));
    const stopping = new AbortController();
    const waiting = pool.acquire(other.scope, stopping.signal);
    await waitFor("the start", () => scripted.launches.length === 2);
    await pool.close();
    expect(await rowOf(storage, other)).toMatchObject({ state: "stopped", error: null });
    expect(scripted.running()).toHaveLength(1);
    stopping.abort(new Error("handed over"));
    await expect(waiting).rejects.toThrow("handed over");
  });
});
