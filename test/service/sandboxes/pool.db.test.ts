import { sql } from "kysely";
import { v7 as uuid7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { SandboxUnavailable } from "../../../src/service/sandboxes/sandboxes.ts";
import { sandboxToken } from "../../../src/service/auth/derive.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { oneTurnd } from "../harness/one-turnd.ts";
import { never, openThread, rowOf, SANDBOX_SECRET, testPool } from "../harness/pool.ts";
import { startScriptedEngine } from "../harness/scripted-engine.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  async function setUp(options: Partial<Parameters<typeof testPool>[0]> = {}) {
    const storage = await freshStorage(kind);
    const scripted = await startScriptedEngine();
    const thread = await openThread(storage);
    const pool = testPool({ storage, engine: scripted.engine, ...options });
    return { storage, scripted, thread, pool };
  }

  test("twenty who want a thread's sandbox at once get one start, with the token of its generation", async () => {
    const { storage, scripted, thread, pool } = await setUp();
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

  test("what a deleted thread left goes with its sandbox, also while that starts; twice and of none is right", async () => {
    const { storage, scripted, thread, pool } = await setUp();
    await pool.forget(thread.scope, never);
    expect(await rowOf(storage, thread)).toBeUndefined();
    await pool.acquire(thread.scope, never);
    expect(scripted.volumes()).toHaveLength(1);
    await pool.forget(thread.scope, never);
    expect([scripted.running(), scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], [], undefined]);
    const { promise, resolve } = Promise.withResolvers<void>();
    scripted.holdReady(promise);
    const giveUp = new AbortController();
    const starting = pool.acquire(thread.scope, giveUp.signal);
    await waitFor("the start", () => scripted.launches.length === 2);
    giveUp.abort(new Error("handed over"));
    await expect(starting).rejects.toThrow("handed over");
    const forgotten = Promise.all([pool.forget(thread.scope, never), pool.forget(thread.scope, never)]);
    await waitFor("the removal", async () => (await rowOf(storage, thread))?.state === "deleting");
    resolve();
    await forgotten;
    expect([scripted.running(), scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], [], undefined]);
    scripted.isAway = true;
    await pool.forget(thread.scope, never);
  });

  test("an engine that is away keeps a removal from being done, and the next one does it", async () => {
    const { storage, scripted, thread, pool } = await setUp();
    await pool.acquire(thread.scope, never);
    scripted.isAway = true;
    await expect(pool.forget(thread.scope, never)).rejects.toThrow("away");
    expect(await rowOf(storage, thread)).toMatchObject({ state: "deleting" });
    scripted.isAway = false;
    await pool.forget(thread.scope, never);
    expect([scripted.volumes(), await rowOf(storage, thread)]).toEqual([[], undefined]);
  });

  test("of a user's sandbox a deleted thread loses its session alone, which twice is right", async () => {
    const turnd = await fakeDaemon();
    const { engine } = oneTurnd(turnd.url);
    const storage = await freshStorage(kind);
    const [thread, other] = [await openThread(storage), await openThread(storage)];
    const pool = testPool({ storage, engine, scope: "user" });
    const { client, id } = await pool.acquire(thread.scope, never);
    for (const { scope } of [thread, other])
      await client.createSession({ executor: "cli-b", session_id: scope.sessionId });
    for (const _ of [1, 2]) await pool.forget(thread.scope, never);
    const { body } = await turnd.request("GET", "/v1/sessions");
    expect(body.sessions).toMatchObject([{ session_id: other.scope.sessionId }]);
    expect(await pool.acquire(thread.scope, never)).toMatchObject({ id, generation: 1 });
  });

  test("after another SERVICE_SANDBOX_SECRET a sandbox that runs is stopped, and the next generation has its volume", async () => {
    const { storage, scripted, thread, pool } = await setUp();
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
    const { storage, scripted, thread, pool } = await setUp();
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

  test("an idle one is stopped with its volume kept, and resumed as the next generation on it", async () => {
    const { storage, scripted, thread, pool } = await setUp({ idleMs: 0 });
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
    const { storage, scripted, thread, pool } = await setUp({ idleMs: 60_000 });
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
    const { storage, scripted, thread, pool } = await setUp();
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
    const { scripted, thread, pool } = await setUp();
    const first = await pool.acquire(thread.scope, never);
    expect(await pool.stop(first.id, 1)).toBe(true);
    expect(await pool.stop(first.id, 1)).toBe(true);
    const second = await pool.acquire(thread.scope, never);
    expect(second.generation).toBe(2);
    expect(await pool.stop(first.id, 1)).toBe(false);
    expect(scripted.running()).toEqual([{ id: first.id, generation: 2 }]);
    expect(await pool.stop(uuid7(), 1)).toBe(false);
  });

  test("a start that fails is told with the engine's last lines; after three in a row the next waits 1, 5, 15 minutes", async () => {
    const { storage, scripted, thread, pool } = await setUp();
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
    await storage.db
      .updateTable("sandbox")
      .set({ error: sql`jsonb_set(error, '{retry_at}', '"2020-01-01T00:00:00.000Z"')` })
      .execute();
    expect((await pool.acquire(thread.scope, never)).generation).toBe(7);
    expect(await rowOf(storage, thread)).toMatchObject({ state: "ready", error: null });
  });

  test("one that does not become ready in time has failed, and is removed", async () => {
    const { scripted, thread, pool } = await setUp({ startMs: 1_000 });
    scripted.holdReady(new Promise(() => undefined));
    await expect(pool.acquire(thread.scope, never)).rejects.toThrow("it was not ready within 1000 ms");
    expect(scripted.running()).toEqual([]);
  });

  test("at the limit the one idle for longest makes room; where none is idle there is none to be had", async () => {
    const { storage, scripted, thread, pool } = await setUp({ max: 2 });
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

  test("one that is gone without our doing is resumed, also under a client that was using it", async () => {
    const { scripted, thread, pool } = await setUp();
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

  test("an engine that does not answer loses nothing: what the row says goes on", async () => {
    const { scripted, thread, pool } = await setUp({ idleMs: 0 });
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
    const { storage, scripted, thread, pool } = await setUp();
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
    const { scripted, thread, pool } = await setUp();
    const first = await pool.acquire(thread.scope, never);
    scripted.move(first.id);
    await expect(first.client.executors()).rejects.toThrow("turnd GET /v1/executors");
    expect(await first.client.executors()).toEqual([]);
    const again = await pool.acquire(thread.scope, never);
    expect(await again.client.executors()).toEqual([]);
    expect([again.generation, scripted.launches.length]).toEqual([1, 1]);
  });

  test("an engine that says nothing holds neither a start beyond its limit nor a probe", async () => {
    const { scripted, thread, pool } = await setUp({ startMs: 1_000 });
    scripted.isSilent = true;
    expect(await pool.look()).toEqual({ ok: false, message: "the sandbox engine does not answer" });
    await expect(pool.acquire(thread.scope, never)).rejects.toThrow("it was not ready within 1000 ms");
    scripted.isSilent = false;
    expect(await pool.look()).toEqual({ ok: true });
    expect((await pool.acquire(thread.scope, never)).generation).toBe(2);
  });

  test("the sweep removes what no row knows, volumes only after a day", async () => {
    const { storage, scripted, thread, pool } = await setUp();
    const mine = await pool.acquire(thread.scope, never);
    const stranger = { id: uuid7(), generation: 3 };
    scripted.leave(stranger);
    scripted.leave({ id: mine.id, generation: 0 });
    await pool.sweep();
    expect(scripted.running()).toEqual([{ id: mine.id, generation: 1 }]);
    expect(scripted.volumes()).toEqual([mine.id, stranger.id]);
    const later = testPool({ storage, engine: scripted.engine, orphanVolumeMs: -1 });
    await later.sweep();
    expect(scripted.volumes()).toEqual([mine.id]);
    expect(scripted.running()).toEqual([{ id: mine.id, generation: 1 }]);
  });

  test("a start whose process died is taken over by the next that needs it, or ended by the sweep", async () => {
    const { storage, scripted, thread, pool } = await setUp({ startMs: 1_000 });
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

  test("a removed one is gone with its volume, whatever it was doing, and a half removal is ended by the sweep", async () => {
    const { storage, scripted, thread, pool } = await setUp();
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
    const { storage, scripted, thread, pool } = await setUp();
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
