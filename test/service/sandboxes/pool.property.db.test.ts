import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SandboxPool } from "../../../src/service/sandboxes/pool.ts";
import { SandboxUnavailable } from "../../../src/service/sandboxes/sandboxes.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { never, openThread, rowOf, testPool, type TestThread } from "../harness/pool.ts";
import { startScriptedEngine, type ScriptedEngine } from "../harness/scripted-engine.ts";
import { ENGINES, shareStorage } from "../harness/storage.ts";

const THREADS = 3;
const MAX = 2;

const step = fc.record({
  do: fc.constantFrom(
    "begin",
    "acquire",
    "acquire",
    "end",
    "sweep",
    "die",
    "stop",
    "stopOlder",
    "fail",
    "crash",
    "quiesce",
    "destroy",
  ),
  at: fc.nat({ max: THREADS - 1 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What a thread's sandbox should be, in the words of the table of states. */
interface Expected {
  state: "none" | "ready" | "quiescing" | "stopped" | "failed";
  generation: number;
  failures: number;
  hasOpenRun: boolean;
  /** It ended by itself, and no process has looked since. */
  hasEnded: boolean;
  /** When it was used last: the smallest is stopped first. */
  usedAt: number;
}

/** The pool's rules, without rows, processes or time: everything idle is idle for long enough. */
class Model {
  readonly sandboxes: Expected[] = Array.from({ length: THREADS }, () => ({
    state: "none",
    generation: 0,
    failures: 0,
    hasOpenRun: false,
    hasEnded: false,
    usedAt: 0,
  }));
  willFail = false;
  private clock = 0;

  of(at: number): Expected {
    const found = this.sandboxes[at];
    if (found === undefined) throw new Error(`there is no thread ${at}`);
    return found;
  }

  active(): Expected[] {
    return this.sandboxes.filter(({ state }) => state === "ready" || state === "quiescing");
  }

  acquire(at: number): "ready" | "sandbox_limit" | "sandbox_start_failed" {
    const mine = this.of(at);
    if (mine.state === "quiescing") mine.state = "ready";
    if (mine.state === "ready" && !mine.hasEnded) return this.use(mine);
    if (mine.state === "ready") mine.state = "stopped";
    // The third failure in a row is a minute's wait, longer than any test.
    if (mine.state === "failed" && mine.failures >= 3) return "sandbox_start_failed";
    if (mine.state === "none") mine.state = "stopped";
    if (this.active().length >= MAX) {
      const idle = this.active().filter(({ state, hasOpenRun }) => state === "ready" && !hasOpenRun);
      const [oldest] = idle.toSorted((left, right) => left.usedAt - right.usedAt);
      if (oldest === undefined) return "sandbox_limit";
      Object.assign(oldest, { state: "stopped", hasEnded: false });
    }
    mine.generation += 1;
    mine.hasEnded = false;
    this.use(mine);
    if (!this.willFail) {
      Object.assign(mine, { state: "ready", failures: 0 });
      return "ready";
    }
    this.willFail = false;
    Object.assign(mine, { state: "failed", failures: mine.failures + 1 });
    return "sandbox_start_failed";
  }

  sweep(): void {
    for (const each of this.active()) {
      if (each.hasOpenRun) this.use(each);
      else if (each.state === "ready") Object.assign(each, { state: "stopped", hasEnded: false });
    }
  }

  private use(each: Expected): "ready" {
    this.clock += 1;
    each.usedAt = this.clock;
    return "ready";
  }
}

interface World {
  readonly storage: Storage;
  readonly scripted: ScriptedEngine;
  readonly threads: readonly TestThread[];
  readonly model: Model;
  pool: SandboxPool;
}

async function play(world: World, { do: action, at }: Step): Promise<void> {
  const { model, pool, scripted, storage } = world;
  const thread = world.threads[at];
  if (thread === undefined) throw new Error(`there is no thread ${at}`);
  const expected = model.of(at);
  const row = await rowOf(storage, thread);
  switch (action) {
    case "begin":
      if (!expected.hasOpenRun) await thread.begin();
      expected.hasOpenRun = true;
      break;
    case "end":
      await thread.end();
      expected.hasOpenRun = false;
      break;
    case "acquire": {
      const outcome = await pool.acquire(thread.scope, never).then(
        ({ generation }) => ({ outcome: "ready", generation }),
        (error: unknown) => {
          if (!(error instanceof SandboxUnavailable)) throw error;
          return { outcome: error.reason, generation: expected.generation };
        },
      );
      expect(outcome.outcome).toBe(model.acquire(at));
      if (outcome.outcome === "ready") expect(outcome.generation).toBe(expected.generation);
      break;
    }
    case "sweep":
      await pool.sweep();
      model.sweep();
      break;
    case "die":
      if (row === undefined || (expected.state !== "ready" && expected.state !== "quiescing")) break;
      scripted.die(row.id);
      expected.hasEnded = true;
      break;
    case "quiesce":
      if (row === undefined) break;
      expect(await pool.quiesce(row.id)).toBe(expected.state === "ready" && !expected.hasOpenRun);
      if (expected.state === "ready" && !expected.hasOpenRun) expected.state = "quiescing";
      break;
    case "stop":
      if (row === undefined) break;
      expect(await pool.stop(row.id, row.generation)).toBe(true);
      if (expected.state === "ready" || expected.state === "quiescing")
        Object.assign(expected, { state: "stopped", hasEnded: false });
      break;
    case "stopOlder":
      if (row !== undefined) expect(await pool.stop(row.id, row.generation - 1)).toBe(false);
      break;
    case "fail":
      if (!model.willFail) scripted.failNext("no luck");
      model.willFail = true;
      break;
    case "crash":
      // Another process goes on from the rows.
      world.pool = testPool({ storage, engine: scripted.engine, max: MAX, idleMs: 0 });
      break;
    case "destroy":
      if (row === undefined) break;
      await pool.destroy(row.id);
      Object.assign(expected, { state: "none", generation: 0, failures: 0, hasEnded: false });
      break;
  }
}

async function check({ storage, scripted, threads, model }: World): Promise<void> {
  const shouldRun: string[] = [];
  const kept: string[] = [];
  for (const [at, thread] of threads.entries()) {
    const [row, expected] = [await rowOf(storage, thread), model.of(at)];
    expect(row?.state ?? "none").toBe(expected.state);
    expect(row?.generation ?? 0).toBe(expected.generation);
    if (row === undefined) continue;
    if (expected.generation > 0) kept.push(row.id);
    if ((expected.state === "ready" || expected.state === "quiescing") && !expected.hasEnded)
      shouldRun.push(`${row.id} ${row.generation}`);
  }
  const running = () => scripted.running().map(({ id, generation }) => `${id} ${generation}`);
  // Who made room is halted beside the start that took it.
  await expect.poll(() => running().toSorted(), { timeout: 60_000 }).toEqual(shouldRun.toSorted());
  expect(scripted.volumes().toSorted()).toEqual(kept.toSorted());
  expect(scripted.violations).toEqual([]);
  expect(shouldRun.length).toBeLessThanOrEqual(MAX);
}

describe.each(ENGINES)("%s", (kind) => {
  const storage = shareStorage(kind);

  test("whatever happens in whatever order, rows, engine and model agree", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const scripted = await startScriptedEngine();
        await storage().db.deleteFrom("sandbox").execute();
        const threads = [];
        for (let at = 0; at < THREADS; at += 1) threads.push(await openThread(storage()));
        const pool = testPool({ storage: storage(), engine: scripted.engine, max: MAX, idleMs: 0 });
        const world: World = { storage: storage(), scripted, threads, model: new Model(), pool };
        for (const each of steps) {
          await play(world, each);
          await check(world);
        }
        for (const thread of threads) await thread.end();
      }),
      { numRuns: kind === "pglite" ? 4 : 12 },
    );
  });
});
