import { describe, expect, onTestFinished, test } from "vitest";
import { json } from "../../../src/service/storage/storable.ts";
import { ensureTaskJobs } from "../../../src/service/tasks/sweep.ts";
import { createTaskControls } from "../../../src/service/tasks/task-controls.ts";
import { workOnTasks } from "../../../src/service/tasks/work-on-tasks.ts";
import { makeUser } from "../harness/auth.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";
import { countTask, ended, logger, start, work } from "../harness/tasks.ts";

describe.each(ENGINES)("%s", (engine) => {
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
    await waitFor("its own places to be taken", () => now === 2);
    resolve();
    for (const each of crowd) expect(await ended(storage, each.id)).toMatchObject({ status: "success" });
    expect(most).toBe(2);
  });

  test("a user's tasks of a kind are one after the other, so that another's is done while they wait", async () => {
    const storage = await freshStorage(engine);
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
    const storage = await freshStorage(engine);
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
    await workOnTasks({ storage, kinds: [kind], controls, logger }, 1);
    for (const id of names.keys()) expect(await ended(storage, id)).toMatchObject({ status: "success" });
    expect(order).toEqual(["first", "second", "third", "first", "second", "first"]);
  });

  test("a kind that is full of some users' tasks takes none of others, and leaves its place to other kinds", async () => {
    const storage = await freshStorage(engine);
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
    await workOnTasks({ storage, kinds: [crowded, other], controls, logger }, 3);
    expect(await ended(storage, id)).toMatchObject({ kind: "other", status: "success" });
    await waitFor("its own places to be taken", () => now === 2);
    resolve();
    for (const each of crowd) expect(await ended(storage, each.id)).toMatchObject({ status: "success" });
    expect(most).toBe(2);
  });

  test("a kind runs as many at once as it declares, and a task whose job was lost gets another", async () => {
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
});
