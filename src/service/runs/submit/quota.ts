import { sql } from "kysely";
import { Quota } from "../../protocol/common.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import { lockName } from "../../storage/advisory-lock.ts";
import type { Transaction } from "../../storage/transaction.ts";
import type { ThreadRow } from "../../threads/threads.ts";
import { OPEN_RUNS } from "../../storage/open-runs.ts";

/** A caller's user and the thread that is named, both locked. */
export interface HeldCaller {
  /** Undefined where there is none of this id. */
  readonly thread: ThreadRow | undefined;
  /**
   * Holds the quotas, where there are any, so that many requests at once do not exceed them. To be called when the thread is
   * held: who takes both takes them in this order.
   *
   * @throws {ApiProblem} quota_exceeded; what runs already goes on
   */
  assertWithin(): Promise<void>;
}

interface HeldColumns {
  readonly is_user_enabled: boolean;
  readonly user_quota: unknown;
  readonly key_quota: unknown;
  readonly has_thread: boolean;
}

/**
 * Locks a user and then the thread, in one statement, and reads the quotas of the user and of the key. Who disables or deletes
 * the user waits for this transaction, and then cancels what it has accepted.
 *
 * @param threadId - undefined: none yet
 * @throws {ApiProblem} unauthorized where the user is disabled or deleted
 */
export async function holdCaller(
  trx: Transaction,
  { credential, userId }: Caller,
  threadId: string | undefined,
): Promise<HeldCaller> {
  const keyId = credential.type === "api_key" ? credential.id : undefined;
  const { rows } = await sql<HeldColumns & ThreadRow>`
    with holder as (select id, is_enabled and deleted_at is null as is_enabled, quota from account where id = ${userId} for key share)
    select holder.is_enabled as is_user_enabled, holder.quota as user_quota,
      (select quota from api_key where id = ${keyId ?? null}::int) as key_quota, thread.pk is not null as has_thread, thread.*
    from holder left join lateral (
      select * from thread where user_id = holder.id and id = ${threadId ?? null}::text and deleted_at is null for update
    ) as thread on true`.execute(trx);
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no user ${userId}`);
  const { is_user_enabled, user_quota, key_quota, has_thread, ...thread } = row;
  if (!is_user_enabled) throw new ApiProblem("unauthorized", "the user was disabled or deleted");
  const [ofUser, ofKey] = [Quota.parse(user_quota), Quota.parse(key_quota ?? {})];
  return {
    thread: has_thread ? thread : undefined,
    async assertWithin() {
      if (Object.keys({ ...ofUser, ...ofKey }).length === 0) return;
      await lockName(trx, "quota", userId);
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
        where r.user_id = ${userId} and r.status in ${OPEN_RUNS} and ${ofKey}) as active,
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
