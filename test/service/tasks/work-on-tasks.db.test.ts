import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { json } from "../../../src/service/storage/storable.ts";
import { TaskTurnOver } from "../../../src/service/tasks/failures.ts";
import { ensureTaskJobs } from "../../../src/service/tasks/sweep.ts";
import { createTaskControls } from "../../../src/service/tasks/task-controls.ts";
import { workOnTasks } from "../../../src/service/tasks/work-on-tasks.ts";
import { makeUser } from "../harness/auth.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { freshStorage } from "../harness/storage.ts";
import { countTask, ended, logger, start, work } from "../harness/tasks.ts";

test("a kind that is full delays no other, however many of it wait, and runs them in its own places", async () => {
  const storage = await freshStorage("postgres");
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
  await workOnTasks({ storage, kinds, controls, logger }, { places: 3, turnMs: 5_000 });
  expect(await ended(storage, id)).toMatchObject({ kind: "other", status: "success", result: 2 });
  await waitFor("its own places to be taken", () => now === 2);
  resolve();
  for (const each of crowd) expect(await ended(storage, each.id)).toMatchObject({ status: "success" });
  expect(most).toBe(2);
});

test("a user's tasks of a kind are one after the other, so that another's is done while they wait", async () => {
  const storage = await freshStorage("postgres");
  const [crowd, other] = [await makeUser(storage, {}), await makeUser(storage, {})];
  const { promise: open, resolve } = Promise.withResolvers<void>();
  let [now, most] = [0, 0];
  const kind = countTask(async ({ taskId }) => {
    if (taskId === single.id) return 2;
    most = Math.max(most, ++now);
    await open;
    now -= 1;
    return 1;
  });
  const { userId } = crowd.caller;
  const crowded = [];
  for (let each = 0; each < 6; each += 1) crowded.push(await start(storage, kind, { userId }));
  const single = await start(storage, kind, { userId: other.caller.userId });
  await work(storage, kind);
  expect(await ended(storage, single.id)).toMatchObject({ status: "success", result: 2 });
  resolve();
  for (const { id } of crowded) expect(await ended(storage, id)).toMatchObject({ status: "success", result: 1 });
  expect(most).toBe(1);
});

test("users take turns for a place: who has started many delays another by one", async () => {
  const storage = await freshStorage("postgres");
  const order: string[] = [];
  const names = new Map<string, string>();
  const kind = countTask(async ({ taskId }) => order.push(names.get(taskId) ?? ""));
  for (const [name, count] of [
    ["first", 3],
    ["second", 2],
    ["third", 1],
  ] as const) {
    const { caller } = await makeUser(storage, {});
    for (let each = 0; each < count; each += 1)
      names.set((await start(storage, kind, { userId: caller.userId })).id, name);
  }
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  await workOnTasks({ storage, kinds: [kind], controls, logger }, { places: 1, turnMs: 5_000 });
  for (const id of names.keys()) expect(await ended(storage, id)).toMatchObject({ status: "success" });
  expect(order).toEqual(["first", "second", "third", "first", "second", "first"]);
});

test("tasks that hold all places hand them over, each once: another user's is done, then they go on", async () => {
  const storage = await freshStorage("postgres");
  const [user, order] = [new Map<string, number>(), new Array<number>()];
  let isOpen = false;
  const kind = countTask(async ({ taskId, checkpoint, progress, isTurnOver, signal }) => {
    order.push(user.get(taskId) ?? 0);
    if (user.get(taskId) === LAST) return 5;
    await progress(10, "on", { done: (checkpoint?.done ?? 0) + 1 });
    while (!isOpen) {
      if (await isTurnOver()) throw new TaskTurnOver();
      await delay(5, undefined, { signal });
    }
    return checkpoint?.done ?? 0;
  });
  const LAST = 5;
  const tasks = [];
  for (let each = 1; each <= LAST; each += 1) {
    const { caller } = await makeUser(storage, {});
    const { id } = await start(storage, kind, { userId: caller.userId });
    user.set(id, each);
    tasks.push(id);
  }
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  await workOnTasks({ storage, kinds: [kind], controls, logger }, { places: 4, turnMs: 0 });
  expect(await ended(storage, tasks[LAST - 1] ?? "")).toMatchObject({ status: "success", result: 5 });
  // Three places of the kind: the fourth waits like the fifth. Of three that are handed over at once the third goes on.
  await waitFor("a turn of each", () => order.includes(LAST - 1) && order.includes(LAST));
  expect(new Set(order.slice(0, LAST + 1))).toEqual(new Set([1, 2, 3, 4, 5]));
  isOpen = true;
  for (const id of tasks) expect(await ended(storage, id)).toMatchObject({ status: "success" });
});

test("a user's own tasks that wait end no turn, nor does a turn end that nobody waits for", async () => {
  const storage = await freshStorage("postgres");
  const { caller } = await makeUser(storage, {});
  let attempts = 0;
  const kind = countTask(async ({ isTurnOver, attempt }) => {
    attempts += 1;
    for (let each = 0; each < 20; each += 1) if (await isTurnOver()) throw new TaskTurnOver();
    return attempt;
  });
  const own = [];
  for (let each = 0; each < 3; each += 1) own.push(await start(storage, kind, { userId: caller.userId }));
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  await workOnTasks({ storage, kinds: [kind], controls, logger }, { places: 4, turnMs: 0 });
  for (const { id } of own) expect(await ended(storage, id)).toMatchObject({ status: "success", result: 1 });
  expect(attempts).toBe(3);
});

test("a kind that is full of some users' tasks takes none of others, and leaves its place to other kinds", async () => {
  const storage = await freshStorage("postgres");
  const { promise: open, resolve } = Promise.withResolvers<void>();
  let [now, most] = [0, 0];
  const crowded = countTask(async () => {
    most = Math.max(most, ++now);
    await open;
    now -= 1;
    return 1;
  });
  const other = { ...countTask(async () => 2), kind: "other" };
  const crowd = [];
  for (let each = 0; each < 5; each += 1) {
    const { caller } = await makeUser(storage, {});
    crowd.push(await start(storage, crowded, { userId: caller.userId }));
  }
  const { id } = await start(storage, other);
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  await workOnTasks({ storage, kinds: [crowded, other], controls, logger }, { places: 3, turnMs: 5_000 });
  expect(await ended(storage, id)).toMatchObject({ kind: "other", status: "success" });
  await waitFor("its own places to be taken", () => now === 2);
  resolve();
  for (const each of crowd) expect(await ended(storage, each.id)).toMatchObject({ status: "success" });
  expect(most).toBe(2);
});

test("a kind runs as many at once as it declares, and a task whose job was lost gets another", async () => {
  const storage = await freshStorage("postgres");
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
