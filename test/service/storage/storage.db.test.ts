import { sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { json } from "../../../src/service/storage/storable.ts";
import {
  OutsideTransactionError,
  isDatabaseAway,
  sqlState,
  violatedConstraint,
} from "../../../src/service/storage/transaction.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { administer, ENGINES, freshStorage } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  test("types come back alike: counts as numbers, times as dates, days as text, bytes as bytes", async () => {
    const storage = await freshStorage(kind);
    const { rows } = await sql<Record<string, unknown>>`select 5::bigint as count, '2026-01-02'::date as day,
      '2026-01-02T03:04:05.678Z'::timestamptz as at, ${Buffer.from([1, 255])}::bytea as bytes, ${json([1, "a"])} as list,
      ${["x", "y z"]}::text[] as words`.execute(storage.db);
    const row = rows[0] ?? {};
    expect(row).toMatchObject({ count: 5, day: "2026-01-02", list: [1, "a"], words: ["x", "y z"] });
    expect((row["at"] as Date).toISOString()).toBe("2026-01-02T03:04:05.678Z");
    expect([...(row["bytes"] as Uint8Array)]).toEqual([1, 255]);
  });

  test("what no engine can store is replaced, everywhere in a value", async () => {
    const storage = await freshStorage(kind);
    const { rows } = await sql<{
      value: unknown;
    }>`select ${json({ "k\0": ["a\0b", { deep: "\uD800x" }] })} as value`.execute(storage.db);
    expect(rows[0]?.value).toEqual({ "k\uFFFD": ["a\uFFFDb", { deep: "\uFFFDx" }] });
  });

  test("inside a transaction every other way to the database fails at once", async () => {
    const storage = await freshStorage(kind);
    await expect(storage.transaction(async () => sql`select 1`.execute(storage.db))).rejects.toBeInstanceOf(
      OutsideTransactionError,
    );
    await expect(storage.transaction(() => storage.transaction(async () => 1))).rejects.toBeInstanceOf(
      OutsideTransactionError,
    );
    await expect(storage.transaction(() => storage.jobs.requestSweep())).rejects.toBeInstanceOf(
      OutsideTransactionError,
    );
    await expect(storage.transaction(() => storage.jobs.ensure("run", crypto.randomUUID()))).rejects.toBeInstanceOf(
      OutsideTransactionError,
    );
    expect((await sql<{ one: number }>`select 1 as one`.execute(storage.db)).rows).toEqual([{ one: 1 }]);
  });

  test("what a transaction has started and outlives it may use the database again", async () => {
    const storage = await freshStorage(kind);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const later = { work: Promise.resolve<unknown>(undefined) };
    await storage.transaction(async (trx) => {
      later.work = ended.then(() => sql`select 1`.execute(storage.db));
      await sql`select 1`.execute(trx);
    });
    resolve();
    await expect(later.work).resolves.toBeDefined();
  });

  test("a transaction that fails leaves nothing, and others beside it are not in it", async () => {
    const storage = await freshStorage(kind);
    const write = (name: string, fault?: Error) =>
      storage.transaction(async (trx) => {
        await trx.insertInto("department").values({ name }).execute();
        if (fault !== undefined) throw fault;
      });
    const fault = new Error("no");
    const results = await Promise.allSettled([write("a"), write("b", fault), write("c"), write("d", fault)]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
    const rows = await storage.db.selectFrom("department").select("name").orderBy("name").execute();
    expect(rows.map(({ name }) => name)).toEqual(["a", "c"]);
  });

  test("a transaction is tried again when the database asks for it, three times at most", async () => {
    const storage = await freshStorage(kind);
    let tries = 0;
    const fail = (times: number) =>
      storage.transaction(async (trx) => {
        tries += 1;
        if (tries <= times) await sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`.execute(trx);
        return tries;
      });
    expect(await fail(3)).toBe(4);
    tries = 0;
    await expect(fail(4)).rejects.toSatisfy((error) => sqlState(error) === "40001");
    expect(tries).toBe(4);
  });

  test("a violated index is named", async () => {
    const storage = await freshStorage(kind);
    const insert = () => storage.db.insertInto("department").values({ name: "one" }).execute();
    await insert();
    const error: unknown = await insert().catch((thrown: unknown) => thrown);
    expect(violatedConstraint(error)).toBe("department_name_key");
    expect(isDatabaseAway(error)).toBe(false);
  });

  test("a notice arrives after its transaction, outside of it; that of one undone never", async () => {
    const storage = await freshStorage(kind);
    const seen: string[] = [];
    const works: Promise<unknown>[] = [];
    const end = await storage.listen("svc_events", {
      onNotice(payload) {
        seen.push(payload);
        works.push(sql`select 1`.execute(storage.db));
      },
      onGap: () => undefined,
    });
    const notify = (payload: string, fault?: Error) =>
      storage.transaction(async (trx) => {
        await sql`select pg_notify('svc_events', ${payload})`.execute(trx);
        if (fault !== undefined) throw fault;
      });
    await expect(notify("undone", new Error("no"))).rejects.toThrow("no");
    await notify("first");
    await waitFor("the notice", () => seen.length > 0);
    expect(seen).toEqual(["first"]);
    await expect(Promise.all(works)).resolves.toHaveLength(1);
    await end();
    await notify("second");
    await sql`select 1`.execute(storage.db);
    expect(seen).toEqual(["first"]);
  });

  test("several may listen, on several channels", async () => {
    const storage = await freshStorage(kind);
    const seen: string[] = [];
    const listen = (channel: "svc_events" | "svc_control", name: string) =>
      storage.listen(channel, { onNotice: (payload) => void seen.push(`${name}:${payload}`), onGap: () => undefined });
    await Promise.all([listen("svc_events", "a"), listen("svc_events", "b"), listen("svc_control", "c")]);
    await sql`select pg_notify('svc_events', '1'), pg_notify('svc_control', '2')`.execute(storage.db);
    await waitFor("all notices", () => seen.length === 3);
    expect(seen.toSorted()).toEqual(["a:1", "b:1", "c:2"]);
  });

  test("closing twice is safe", async () => {
    const storage = await freshStorage(kind);
    await Promise.all([storage.close(), storage.close()]);
    onTestFinished(() => undefined);
  });
});

test("a connection that breaks in the middle of a transaction ends that transaction alone", async () => {
  const storage = await freshStorage("postgres");
  const cut = storage.transaction(async (trx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
    await administer(`select pg_terminate_backend(${rows[0]?.pid})`);
    await waitFor("the end of the connection", () =>
      sql`select 1`.execute(trx).then(
        () => false,
        () => true,
      ),
    );
    await sql`select 1`.execute(trx);
  });
  await expect(cut).rejects.toSatisfy(isDatabaseAway);
  expect((await sql<{ one: number }>`select 1 as one`.execute(storage.db)).rows).toEqual([{ one: 1 }]);
});
