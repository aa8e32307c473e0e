import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createAttempts } from "../../../src/service/tasks/attempt-task.ts";
import { defineTask } from "../../../src/service/tasks/define-task.ts";
import { TaskFailure } from "../../../src/service/tasks/failures.ts";
import { createTaskControls } from "../../../src/service/tasks/task-controls.ts";
import { createTasks } from "../../../src/service/tasks/tasks.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { freshStorage } from "../harness/storage.ts";
import { ALL, countTask, ended, logger, start, untilAborted, work } from "../harness/tasks.ts";

/** No other waits for its place. */
const KEPT = { isOver: () => Promise.resolve(false) };

test("a handler that fails goes on from its checkpoint; three attempts without progress end the task", async () => {
  const storage = await freshStorage("postgres");
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

test("a task that is done no longer shows what it worked on last", async () => {
  const storage = await freshStorage("postgres");
  const kind = countTask(async ({ progress }) => {
    await progress(50, "last-file.pdf");
    return 1;
  });
  await work(storage, kind);
  const { id } = await start(storage, kind);
  expect(await ended(storage, id)).toMatchObject({ status: "success", progress: 100, message: "" });
});

test("a handler that fails with a reason ends the task at once; one that takes too long is timed out", async () => {
  const storage = await freshStorage("postgres");
  let attempts = 0;
  const hasReason = countTask(async () => {
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
  await work(storage, hasReason, hangs);
  const first = await start(storage, hasReason);
  const second = await start(storage, hangs);
  expect(await ended(storage, first.id)).toMatchObject({
    status: "failed",
    error: { code: "file_missing", message: "there is no such file" },
  });
  expect(attempts).toBe(1);
  expect(await ended(storage, second.id)).toMatchObject({ status: "failed", error: { code: "timed_out" } });
});

test("a cancel ends a waiting task at once and a running one by its handler", async () => {
  const storage = await freshStorage("postgres");
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

test("an attempt that was overtaken writes nothing more, and stops without an error", async () => {
  const storage = await freshStorage("postgres");
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
  const first = attempt(id, new AbortController().signal, KEPT);
  await old.begun.promise;
  await attempt(id, new AbortController().signal, KEPT);
  old.go.resolve();
  await first;
  expect(refused).toEqual(["TaskOwnershipLost", "TaskOwnershipLost", "true"]);
  expect(await createTasks(storage).get(ALL, id)).toMatchObject({ status: "success", result: 2, message: "" });
});

test("a worker that stops gives its task to the next without counting it as a fault", async () => {
  const storage = await freshStorage("postgres");
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  let isDone = false;
  const kind = countTask(({ signal }) => (isDone ? Promise.resolve(7) : untilAborted(signal)));
  const attempt = createAttempts({ storage, kinds: [kind], controls, logger });
  const { id } = await start(storage, kind);
  for (let stops = 0; stops < 5; stops += 1) {
    const stopping = new AbortController();
    const attempted = attempt(id, stopping.signal, KEPT);
    await waitFor("the attempt", async () => (await createTasks(storage).get(ALL, id)).status === "running");
    stopping.abort(new Error("the service is stopping"));
    await expect(attempted).rejects.toThrow();
  }
  isDone = true;
  await attempt(id, new AbortController().signal, KEPT);
  expect(await createTasks(storage).get(ALL, id)).toMatchObject({ status: "success", result: 7 });
});
