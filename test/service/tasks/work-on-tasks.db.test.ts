import { describe, expect, onTestFinished, test } from "vitest";
import { json } from "../../../src/service/storage/storable.ts";
import { ensureTaskJobs } from "../../../src/service/tasks/sweep.ts";
import { createTaskControls } from "../../../src/service/tasks/task-controls.ts";
import { workOnTasks } from "../../../src/service/tasks/work-on-tasks.ts";
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
    expect(now).toBeLessThanOrEqual(2);
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
