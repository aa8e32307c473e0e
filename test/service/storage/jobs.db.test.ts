import { sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../harness/wait-for.ts";
import { ENGINES, freshDatabase, freshStorage, openTestStorage } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  test("a job sent in a transaction comes when that is done, and never when it is undone", async () => {
    const storage = await freshStorage(kind);
    const [kept, undone] = [crypto.randomUUID(), crypto.randomUUID()];
    const done: string[] = [];
    await storage.jobs.work("run", 2, async (id) => void done.push(id));
    await expect(
      storage.transaction(async (trx) => {
        await storage.jobs.send(trx, "run", undone);
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    await storage.transaction((trx) => storage.jobs.send(trx, "run", kept));
    await waitFor("the job", () => done.length > 0);
    expect(done).toEqual([kept]);
  });

  test("the same id is one job", async () => {
    const storage = await freshStorage(kind);
    const id = crypto.randomUUID();
    for (let times = 0; times < 3; times += 1) await storage.transaction((trx) => storage.jobs.send(trx, "task", id));
    await storage.jobs.ensure("task", id);
    const other = crypto.randomUUID();
    const done: string[] = [];
    await storage.jobs.work("task", 1, async (job) => void done.push(job));
    await storage.transaction((trx) => storage.jobs.send(trx, "task", other));
    await waitFor("both jobs", () => done.includes(other));
    expect(done).toEqual([id, other]);
  });

  test("the lease of a job that is worked on is renewed", async () => {
    const storage = await freshStorage(kind);
    const id = crypto.randomUUID();
    const held = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    await storage.jobs.work("run", 1, () => held.promise);
    await storage.transaction((trx) => storage.jobs.send(trx, "run", id));
    const renewals = new Set<number>();
    await waitFor("two renewals", async () => {
      const { rows } = await sql<{ at: Date | null }>`
        select heartbeat_on as at from tasks_boss.job where id = ${id} and state = 'active'`.execute(storage.db);
      for (const { at } of rows) if (at !== null) renewals.add(at.getTime());
      return renewals.size >= 3;
    });
  });

  test("a job whose handler fails comes again", async () => {
    const storage = await freshStorage(kind);
    const id = crypto.randomUUID();
    let tries = 0;
    await storage.jobs.work("run", 1, async () => {
      tries += 1;
      if (tries < 3) throw new Error("not yet");
    });
    await storage.transaction((trx) => storage.jobs.send(trx, "run", id));
    await waitFor("the third try", () => tries === 3);
  });

  test("a row that has work gets its job again, even where the last one is done", async () => {
    const storage = await freshStorage(kind);
    const id = crypto.randomUUID();
    let times = 0;
    await storage.jobs.work("run", 1, async () => void (times += 1));
    await storage.transaction((trx) => storage.jobs.send(trx, "run", id));
    await waitFor("the first time", () => times === 1);
    await waitFor("the second time", async () => {
      await storage.jobs.ensure("run", id);
      return times >= 2;
    });
  });

  test("only one of many requests in half a minute is swept", async () => {
    const storage = await freshStorage(kind);
    let sweeps = 0;
    for (let times = 0; times < 5; times += 1) await storage.jobs.requestSweep();
    await storage.jobs.work("sweep", 1, async () => void (sweeps += 1));
    await waitFor("the sweep", () => sweeps > 0);
    // A slot may have ended in between.
    expect(sweeps).toBeLessThanOrEqual(2);
  });

  test("the clock goes back an hour: what waits is done now, and a sweep is taken", async () => {
    const storage = await freshStorage(kind);
    await storage.jobs.requestSweep();
    const swept = Promise.withResolvers<void>();
    await storage.jobs.work("sweep", 1, async () => swept.resolve());
    await swept.promise;
    const job = sql.table("tasks_boss.job");
    const isDone = async () =>
      (await sql`select 1 from ${job} where name = 'sweep' and state = 'completed'`.execute(storage.db)).rows.length >
      0;
    await waitFor("the sweep's job to be done", isDone);
    const id = crypto.randomUUID();
    await storage.transaction((trx) => storage.jobs.send(trx, "run", id));
    // As the rows are after it: all that was written before is an hour ahead. The sweep of half a minute ago was one of now.
    await sql`update ${job} set created_on = created_on + interval '1 hour', start_after = start_after + interval '1 hour'`.execute(
      storage.db,
    );
    const done: string[] = [];
    await storage.jobs.work("run", 1, async (each) => void done.push(each));
    const sweeps = async () =>
      (await sql`select 1 from ${job} where name = 'sweep' and created_on <= now()`.execute(storage.db)).rows.length;
    expect(await sweeps()).toBe(0);
    await storage.jobs.requestSweep();
    expect(await sweeps()).toBe(1);
    await waitFor("the run's job", () => done.length > 0);
    expect(done).toEqual([id]);
  });

  test("a stop aborts the handler and gives its job back for another process", async () => {
    const engine = kind === "postgres" ? await freshDatabase(kind) : undefined;
    if (engine === undefined) return;
    const first = await openTestStorage(engine);
    const second = await openTestStorage(engine);
    onTestFinished(() => second.close());
    const id = crypto.randomUUID();
    const begun = Promise.withResolvers<void>();
    await first.jobs.work("run", 1, async (_id, signal) => {
      begun.resolve();
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("handed over"))));
    });
    await first.transaction((trx) => first.jobs.send(trx, "run", id));
    await begun.promise;
    const taken: string[] = [];
    await second.jobs.work("run", 1, async (job) => void taken.push(job));
    expect(taken).toEqual([]);
    await first.close(5_000);
    await waitFor("the other has it", () => taken.length === 1);
    expect(taken).toEqual([id]);
  });
});
