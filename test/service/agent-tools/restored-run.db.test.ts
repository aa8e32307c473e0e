import { randomUUID } from "node:crypto";
import { sql, type RawBuilder } from "kysely";
import { expect, test } from "vitest";
import { readAccess } from "../../../src/service/agent-tools/run-access.ts";
import { runToken } from "../../../src/service/auth/derive.ts";
import { KEY_SECRET } from "../harness/auth.ts";
import { openRunDesk } from "../harness/run-desk.ts";
import { freshStorage, LEASE_MS } from "../harness/storage.ts";

test("a run's token is good while a worker has the run, and a lease longer; not in a restored backup", async () => {
  const storage = await freshStorage("postgres");
  const desk = await openRunDesk(storage);
  const { request } = await desk.submit(randomUUID(), "enqueue");
  const runId = request.planned_run_id;
  await desk.claim(runId);
  const options = { storage, keySecret: KEY_SECRET, closing: new AbortController().signal };
  const isGood = async (): Promise<boolean> =>
    (await readAccess(options, `Bearer ${runToken(KEY_SECRET, runId)}`)) !== undefined;
  const ago = (leases: number): RawBuilder<Date> => sql`now() - ${leases * LEASE_MS}::int * interval '1 millisecond'`;
  /** As workers leave the job; a backup has its times of then. */
  const setJob = async (state: "created" | "retry" | "active" | "completed", leases: number): Promise<void> => {
    const { rows } = await sql`
      update tasks_boss.job set state = ${sql.lit(state)}, start_after = ${ago(state === "active" ? 100 : leases)},
        started_on = ${ago(100)}, heartbeat_on = ${state === "active" ? ago(leases) : sql`null`}
      where name = 'run' and id = ${runId} returning id`.execute(storage.db);
    expect(rows).toHaveLength(1);
  };

  await setJob("active", 0);
  expect(await isGood()).toBe(true);
  // Its worker was killed: the next one may take a lease to notice.
  await setJob("active", 1.5);
  expect(await isGood()).toBe(true);
  // It was given back, or its job was lost and made anew.
  for (const state of ["retry", "created"] as const) {
    await setJob(state, 0.5);
    expect(await isGood(), state).toBe(true);
  }

  for (const state of ["active", "retry", "created"] as const) {
    await setJob(state, 3);
    expect(await isGood(), state).toBe(false);
  }
  await setJob("completed", 0);
  expect(await isGood()).toBe(false);
  // A worker has taken the restored run.
  await setJob("active", 0);
  expect(await isGood()).toBe(true);
});
