import { expect, onTestFinished, test } from "vitest";
import { startTask } from "../../../src/service/tasks/start-task.ts";
import { deleteExpiredTasks } from "../../../src/service/tasks/sweep.ts";
import { createTasks } from "../../../src/service/tasks/tasks.ts";
import { call, testApp } from "../harness/app.ts";
import { makeUser, PASSWORD } from "../harness/auth.ts";
import { freshStorage } from "../harness/storage.ts";
import { ALL, countTask, ended, start, work } from "../harness/tasks.ts";

test("a task is deleted when it ended long ago; an open one never is", async () => {
  const storage = await freshStorage("postgres");
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

test("a task runs, reports its progress and keeps its result", async () => {
  const storage = await freshStorage("postgres");
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
  const storage = await freshStorage("postgres");
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

test("nothing is made when the caller's transaction is undone", async () => {
  const storage = await freshStorage("postgres");
  const kind = countTask(async () => 1);
  await expect(
    storage.transaction(async (trx) => {
      await startTask(storage, trx, { kind, userId: null, name: "counting", payload: { count: 1 } });
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  expect((await createTasks(storage).list(ALL, { skip: 0, limit: 10 })).total).toBe(0);
});

test("over HTTP a user sees its own tasks, a superadmin all; only an ended one can be deleted", async () => {
  const storage = await freshStorage("postgres");
  const app = await testApp(storage);
  onTestFinished(() => app.close());
  const root = (await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD })).body;
  await call(app, "POST", "/api/auth/users", { username: "other", password: PASSWORD }, { token: root.access_token });
  const other = (await call(app, "POST", "/api/auth/token", { username: "other", password: PASSWORD })).body;
  const outsider = await makeUser(storage);
  const kind = countTask(async () => 1);
  const make = (userId: number) =>
    storage.transaction((trx) => startTask(storage, trx, { kind, userId, name: "n", payload: { count: 1 } }));
  const mine = (await make(other.user.id)).task.id;
  const theirs = (await make(outsider.caller.userId)).task.id;
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
