import { sql } from "kysely";
import { Quota } from "../api/common.ts";
import { ApiProblem } from "../api/problems.ts";
import type { Caller } from "../auth/caller.ts";
import { lockName } from "../storage/advisory-lock.ts";
import type { Transaction } from "../storage/transaction.ts";

/** The quotas that a caller's requests count against. */
export interface HeldQuotas {
  /** @throws {ApiProblem} quota_exceeded; what runs already goes on */
  assertWithin(): Promise<void>;
}

/**
 * Holds a user, so that a deletion waits and cancels what is taken here, with the soft limits of the user and of the key that is
 * used. Where there are any, the user's requests are taken one after the other for the rest of the transaction, so that of many
 * at once none slips past them. To be called before a thread is held.
 *
 * @throws {ApiProblem} unauthorized where the user is deleted
 */
export async function holdQuotas(trx: Transaction, { credential, userId }: Caller): Promise<HeldQuotas> {
  const keyId = credential.type === "api_key" ? credential.id : undefined;
  const row = await trx
    .selectFrom("account")
    .leftJoin("api_key", (join) => join.on("api_key.id", "=", keyId ?? null))
    .select(["account.deleted_at", "account.quota as user_quota", "api_key.quota as key_quota"])
    .where("account.id", "=", userId)
    .forKeyShare("account")
    .executeTakeFirstOrThrow();
  if (row.deleted_at !== null) throw new ApiProblem("unauthorized", "the user was deleted");
  const [ofUser, ofKey] = [Quota.parse(row.user_quota), Quota.parse(row.key_quota ?? {})];
  if (Object.keys({ ...ofUser, ...ofKey }).length > 0) await lockName(trx, "quota", userId);
  return {
    async assertWithin() {
      await assertOne(trx, ofUser, userId, undefined);
      await assertOne(trx, ofKey, userId, keyId);
    },
  };
}

async function assertOne(trx: Transaction, quota: Quota, userId: number, keyId: number | undefined): Promise<void> {
  if (Object.keys(quota).length === 0) return;
  const ofKey = keyId === undefined ? sql`true` : sql`q.api_key_id = ${keyId}`;
  const ofDay = keyId === undefined ? sql`true` : sql`api_key_id = ${keyId}`;
  const { rows } = await sql<{ active: number; today: number; tokens: number; seconds: number }>`
    select
      (select count(*)::int from run r join run_request q on q.pk = r.request_pk
        where r.user_id = ${userId} and r.status in ('pending', 'running', 'cancel_requested') and ${ofKey}) as active,
      (select count(*)::int from run_request q where q.user_id = ${userId} and q.status in ('queued', 'dispatched')
        and q.created_at >= date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' and ${ofKey}) as today,
      (select coalesce(sum(input_tokens + output_tokens), 0)::bigint from usage_day
        where user_id = ${userId} and day = (now() at time zone 'UTC')::date and ${ofDay}) as tokens,
      ceil(extract(epoch from date_trunc('day', now() at time zone 'UTC') + interval '1 day' - now() at time zone 'UTC'))::int as seconds`.execute(
    trx,
  );
  const [counts] = rows;
  if (counts === undefined) return;
  const { active_runs, runs_per_day, tokens_per_day } = quota;
  if (active_runs !== undefined && counts.active >= active_runs) {
    throw new ApiProblem(
      "quota_exceeded",
      `${counts.active} runs are active, as many as the quota allows`,
      { quota: "active_runs" },
      5,
    );
  }
  const spent =
    runs_per_day !== undefined && counts.today >= runs_per_day
      ? "runs_per_day"
      : tokens_per_day !== undefined && counts.tokens >= tokens_per_day
        ? "tokens_per_day"
        : undefined;
  if (spent !== undefined)
    throw new ApiProblem("quota_exceeded", `today's ${spent} is used up`, { quota: spent }, counts.seconds);
}
