import { sql } from "kysely";
import type { Storage } from "../../storage/storage.ts";
import { lockThread } from "../../threads/threads.ts";
import type { Ownership } from "./rows.ts";

/**
 * Assigns a waiting steer to turnd: from now on its turn may be there, so it runs whatever becomes of its target.
 *
 * Only the target's owner may, and only while nothing has ended or cancelled the target (law: one owner writes): a
 * steer that is assigned later would have a turn that no run follows.
 *
 * @returns whether this call assigned it
 */
export async function assignSteer(storage: Storage, owner: Ownership, requestPk: number): Promise<boolean> {
  return storage.transaction(async (trx) => {
    await lockThread(trx, owner.threadPk);
    const target = await trx
      .selectFrom("run")
      .select("id")
      .where("id", "=", owner.runId)
      .where("attempt", "=", owner.attempt)
      .where("status", "=", "running")
      .executeTakeFirst();
    if (target === undefined) return false;
    const { numUpdatedRows } = await trx
      .updateTable("run_request")
      .set({ handed_at: sql<Date>`now()` })
      .where("pk", "=", requestPk)
      .where("steer_target", "=", owner.runId)
      .where("status", "=", "queued")
      .where("handed_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  });
}
