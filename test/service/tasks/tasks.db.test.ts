import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { json } from "../../../src/service/storage/storable.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { createAttempts } from "../../../src/service/tasks/attempt-task.ts";
import { defineTask, type AnyTaskKind, type TaskContext } from "../../../src/service/tasks/define-task.ts";
import { TaskFailure } from "../../../src/service/tasks/failures.ts";
import { startTask } from "../../../src/service/tasks/start-task.ts";
import { deleteExpiredTasks, ensureTaskJobs } from "../../../src/service/tasks/sweep.ts";
import { createTaskControls } from "../../../src/service/tasks/task-controls.ts";
import { createTasks } from "../../../src/service/tasks/tasks.ts";
import { workOnTasks } from "../../../src/service/tasks/work-on-tasks.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { call, testApp } from "../harness/app.ts";
import { makeUser, PASSWORD } from "../harness/auth.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";

const ALL = { userId: 0, seesAll: true };
const logger = pino({ level: "silent" });

type Context = TaskContext<{ count: number }, { done: number }>;

/** Counts, if nothing else is said. */
function countTask(
  run: (context: Context) => Promise<number>,
  more: { concurrency?: number; timeoutMs?: number } = {},
) {
  return defineTask({
    kind: "count",
    payload: z.object({ count: z.int() }),
    result: z.int(),
    checkpoint: z.object({ done: z.int() }),
    concurrency: more.concurrency ?? 4,
    timeoutMs: more.timeoutMs ?? 60_000,
    run,
  });
}

/** Takes tasks as a worker process does. */
async function work(storage: Storage, ...kinds: AnyTaskKind[]): Promise<void> {
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  await workOnTasks({ storage, kinds, controls, logger }, 4);
}

async function start(storage: Storage, kind: ReturnType<typeof countTask>, more: { key?: string } = {}) {
  const started = await storage.transaction((trx) =>
    startTask(storage, trx, { kind, userId: null, name: "counting", payload: { count: 3 }, ...more }),
  );
  return { ...started, id: started.task.id };
}

async function ended(storage: Storage, id: string) {
  return waitFor("the task's end", async () => {
    const task = await createTasks(storage).get(ALL, id);
    return task.completed_at === null ? undefined : task;
  });
}

describe.each(ENGINES)("%s", (engine) => {
  test("a task is deleted when it ended long ago; an open one never is", async () => {
    const storage = await freshStorage(engine);
    const kind = countTask(async () => 1);
    const [old, recent, open] = [await start(storage, kind), await start(storage, kind), await start(storage, kind)];
    for (const [{ id }, hours] of [
      [old, 25],
      [recent, 23],
    ] as const) {
      await storage.db
        .updateTable("task")
        .set({ status: "success", completed_at: new Date(Date.now() - hours * 3_600_000) })
        .where("id", "=", id)
        .execute();
    }
    expect(await deleteExpiredTasks(storage, 86_400_000)).toBe(1);
    const rows = await storage.db.selectFrom("task").select("id").execute();
    expect(rows.map(({ id }) => id).toSorted()).toEqual([recent.id, open.id].toSorted());
  });

  test("a task runs, tells its progress and keeps its result", async () => {
    const storage = await freshStorage(engine);
    const seen: string[] = [];
    const kind = countTask(async (context) => {
      for (let done = 1; done <= context.payload.count; done += 1) {
        await context.progress((done / context.payload.count) * 99, `${done}\0 of 3`, { done });
        const { progress, message } = await createTasks(storage).get(ALL, context.taskId);
        seen.push(`${progress} ${message}`);
      }
      return context.payload.count;
    });
    await work(storage, kind);
    const { id, task } = await start(storage, kind);
    expect(task).toMatchObject({ status: "pending", progress: 0, attempt: 0 });
    expect(await ended(storage, id)).toMatchObject({ status: "success", progress: 100, result: 3, error: null });
    expect(seen).toEqual(["33 1\uFFFD of 3", "66 2\uFFFD of 3", "99 3\uFFFD of 3"]);
  });

  test("an open task of the same kind and key is joined, by twenty at once too; an ended one is not", async () => {
    const storage = await freshStorage(engine);
    const kind = countTask(async () => 1);
    const started = await Promise.all(Array.from({ length: 20 }, () => start(storage, kind, { key: "one" })));
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    expect(started.filter(({ joined }) => !joined)).toHaveLength(1);
    expect((await start(storage, kind)).joined).toBe(false);
    const [first] = started;
    await work(storage, kind);
    await ended(storage, first?.id ?? "");
    expect(await start(storage, kind, { key: "one" })).toMatchObject({ joined: false });
  });

  test("a kind that is full delays no other, however many of it wait, and runs them in its own places", async () => {
    const storage = await freshStorage(engine);
    const { promise: open, resolve } = Promise.withResolvers<void>();
    let [now, most] = [0, 0];
    const crowded = countTask(async () => {
      now += 1;
      most = Math.max(most, now);
      await open;
      now -= 1;
      return 1;
    });
    const other = { ...countTask(async () => 2), kind: "other" };
    const kinds = [{ ...crowded, concurrency: 9 }, other];
    const controls = await createTaskControls(storage, logger);
    onTestFinished(() => controls.close());
    const crowd = [];
    for (let each = 0; each < 12; each += 1) crowd.push(await start(storage, crowded));
    const { id } = await start(storage, other);
    await workOnTasks({ storage, kinds, controls, logger }, 3);
    expect(await ended(storage, id)).toMatchObject({ kind: "other", status: "success", result: 2 });
    expect(now).toBeLessThanOrEqual(2);
    resolve();
    for (const each of crowd) expect(await ended(storage, each.id)).toMatchObject({ status: "success" });
    expect(most).toBe(2);
  });

  test("nothing is made when the caller's transaction is undone", async () => {
    const storage = await freshStorage(engine);
    const kind = countTask(async () => 1);
    await expect(
      storage.transaction(async (trx) => {
        await startTask(storage, trx, { kind, userId: null, name: "counting", payload: { count: 1 } });
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect((await createTasks(storage).list(ALL, { skip: 0, limit: 10 })).total).toBe(0);
  });

  test("a handler that fails goes on from its checkpoint; three attempts without progress end the task", async () => {
    const storage = await freshStorage(engine);
    const from: (number | undefined)[] = [];
    const kind = countTask(async ({ checkpoint, progress }) => {
      from.push(checkpoint?.done);
      const done = (checkpoint?.done ?? 0) + 1;
      if (done <= 2) await progress(0, "on", { done });
      throw new Error("it broke");
    });
    await work(storage, kind);
    const { id } = await start(storage, kind);
    expect(await ended(storage, id)).toMatchObject({ status: "failed", error: { code: "attempts_exhausted" } });
    // Two that moved, and three that did not.
    expect(from).toEqual([undefined, 1, 2, 2, 2]);
  });

  test("a handler that knows why it failed ends the task at once; one that takes too long is timed out", async () => {
    const storage = await freshStorage(engine);
    let attempts = 0;
    const knows = countTask(async () => {
      attempts += 1;
      throw new TaskFailure("file_missing", "there is no such file");
    });
    const hangs = defineTask({
      kind: "hang",
      payload: z.object({ count: z.int() }),
      result: z.int(),
      checkpoint: z.object({ done: z.int() }),
      concurrency: 1,
      timeoutMs: 300,
      run: ({ signal }) => untilAborted(signal),
    });
    await work(storage, knows, hangs);
    const first = await start(storage, knows);
    const second = await start(storage, hangs);
    expect(await ended(storage, first.id)).toMatchObject({
      status: "failed",
      error: { code: "file_missing", message: "there is no such file" },
    });
    expect(attempts).toBe(1);
    expect(await ended(storage, second.id)).toMatchObject({ status: "failed", error: { code: "timed_out" } });
  });

  test("a cancel ends a waiting task at once and a running one by its handler", async () => {
    const storage = await freshStorage(engine);
    const tasks = createTasks(storage);
    let runs = 0;
    const kind = countTask(({ signal }) => {
      runs += 1;
      return untilAborted(signal);
    });
    const noted: string[] = [];
    const alongside = async (_trx: unknown, { id }: { id: string }): Promise<void> => void noted.push(id);
    const waiting = await start(storage, kind);
    expect(await tasks.cancel(ALL, waiting.id, alongside)).toMatchObject({ status: "cancelled" });
    await work(storage, kind);
    const running = await start(storage, kind);
    await waitFor("the handler", () => runs === 1);
    expect(await tasks.cancel(ALL, running.id, alongside)).toMatchObject({ status: "running", cancel_requested: true });
    await tasks.cancel(ALL, running.id, alongside);
    expect(await ended(storage, running.id)).toMatchObject({ status: "cancelled", error: null, result: null });
    expect(noted).toEqual([waiting.id, running.id]);
    expect(runs).toBe(1);
  });

  test("an attempt that was overtaken writes nothing more, and stops in silence", async () => {
    const storage = await freshStorage(engine);
    const controls = await createTaskControls(storage, logger);
    onTestFinished(() => controls.close());
    const old = { go: Promise.withResolvers<void>(), begun: Promise.withResolvers<void>() };
    const refused: string[] = [];
    let attempts = 0;
    const kind = countTask(async ({ progress, transaction, signal }) => {
      attempts += 1;
      if (attempts > 1) return 2;
      old.begun.resolve();
      await old.go.promise;
      await progress(50, "late").catch((error: Error) => refused.push(error.name));
      await transaction(async () => undefined).catch((error: Error) => refused.push(error.name));
      refused.push(String(signal.aborted));
      return 1;
    });
    const attempt = createAttempts({ storage, kinds: [kind], controls, logger });
    const { id } = await start(storage, kind);
    const first = attempt(id, new AbortController().signal);
    await old.begun.promise;
    await attempt(id, new AbortController().signal);
    old.go.resolve();
    await first;
    expect(refused).toEqual(["TaskOwnershipLost", "TaskOwnershipLost", "true"]);
    expect(await createTasks(storage).get(ALL, id)).toMatchObject({ status: "success", result: 2, message: "" });
  });

  test("a worker that stops gives its task to the next without counting it as a fault", async () => {
    const storage = await freshStorage(engine);
    const controls = await createTaskControls(storage, logger);
    onTestFinished(() => controls.close());
    let isDone = false;
    const kind = countTask(({ signal }) => (isDone ? Promise.resolve(7) : untilAborted(signal)));
    const attempt = createAttempts({ storage, kinds: [kind], controls, logger });
    const { id } = await start(storage, kind);
    for (let stops = 0; stops < 5; stops += 1) {
      const stopping = new AbortController();
      const attempted = attempt(id, stopping.signal);
      await waitFor("the attempt", async () => (await createTasks(storage).get(ALL, id)).status === "running");
      stopping.abort(new Error("the service is stopping"));
      await expect(attempted).rejects.toThrow();
    }
    isDone = true;
    await attempt(id, new AbortController().signal);
    expect(await createTasks(storage).get(ALL, id)).toMatchObject({ status: "success", result: 7 });
  });

  test("a kind runs as many at once as it says, and a task whose job was lost gets another", async () => {
    const storage = await freshStorage(engine);
    let now = 0;
    let most = 0;
    const kind = countTask(
      async ({ progress }) => {
        now += 1;
        most = Math.max(most, now);
        await progress(50, "on");
        now -= 1;
        return 1;
      },
      { concurrency: 1 },
    );
    const started = await Promise.all(Array.from({ length: 4 }, () => start(storage, kind)));
    const { id } = await storage.db
      .insertInto("task")
      .values({
        id: crypto.randomUUID(),
        kind: "count",
        name: "lost",
        status: "pending",
        payload: json<unknown>({ count: 1 }),
        created_at: new Date(Date.now() - 60_000),
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    await work(storage, kind);
    await ensureTaskJobs(storage);
    for (const one of [...started, { id }]) expect(await ended(storage, one.id)).toMatchObject({ status: "success" });
    expect(most).toBe(1);
  });

  test("over HTTP a user sees its own tasks, a superadmin all; only an ended one can be deleted", async () => {
    const storage = await freshStorage(engine);
    const app = await testApp(storage);
    onTestFinished(() => app.close());
    const root = (await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD })).body;
    await call(app, "POST", "/api/auth/users", { username: "other", password: PASSWORD }, { token: root.access_token });
    const other = (await call(app, "POST", "/api/auth/token", { username: "other", password: PASSWORD })).body;
    const stranger = await makeUser(storage);
    const kind = countTask(async () => 1);
    const make = (userId: number) =>
      storage.transaction((trx) => startTask(storage, trx, { kind, userId, name: "n", payload: { count: 1 } }));
    const mine = (await make(other.user.id)).task.id;
    const theirs = (await make(stranger.caller.userId)).task.id;
    const as = { token: other.access_token };
    const all = { token: root.access_token };
    expect((await call(app, "GET", "/api/tasks?kind=count&status=pending", undefined, as)).body).toMatchObject({
      total: 1,
      tasks: [{ id: mine, kind: "count", status: "pending", result: null }],
    });
    expect((await call(app, "GET", "/api/tasks?limit=1", undefined, all)).body).toMatchObject({
      total: 2,
      tasks: [{ id: theirs }],
    });
    for (const [method, path] of [
      ["GET", `/api/tasks/${theirs}`],
      ["POST", `/api/tasks/${theirs}/cancel`],
      ["DELETE", `/api/tasks/${theirs}`],
      ["GET", "/api/tasks/nothing"],
    ] as const) {
      expect((await call(app, method, path, undefined, as)).body.detail.code).toBe("task_not_found");
    }
    expect((await call(app, "DELETE", `/api/tasks/${mine}`, undefined, as)).body.detail.code).toBe("task_not_ended");
    expect((await call(app, "POST", `/api/tasks/${mine}/cancel`, undefined, as)).body.task.status).toBe("cancelled");
    expect((await call(app, "DELETE", `/api/tasks/${mine}`, undefined, as)).body).toEqual({ success: true });
    expect((await call(app, "GET", `/api/tasks/${mine}`, undefined, as)).status).toBe(404);
    await call(app, "POST", `/api/tasks/${theirs}/cancel`, undefined, all);
    const audit = await call(app, "GET", `/api/audit?subject=task:${theirs}`, undefined, all);
    expect(audit.body.entries).toMatchObject([{ action: "task.cancelled", actor_id: root.user.id }]);
    expect((await call(app, "GET", `/api/audit?subject=task:${mine}`, undefined, all)).body.entries).toEqual([]);
    expect((await call(app, "GET", "/api/tasks?status=other", undefined, as)).status).toBe(422);
    expect((await call(app, "GET", "/api/tasks")).status).toBe(401);
  });
});

async function untilAborted(signal: AbortSignal): Promise<never> {
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => aborted.resolve());
  if (!signal.aborted) await aborted.promise;
  signal.throwIfAborted();
  throw new Error("the signal did not abort");
}
