import { sql, type RawBuilder } from "kysely";
import { Quota } from "../../protocol/common.ts";
import type { UsageItem, UsageQuery, UsageReport } from "../../protocol/usage.ts";
import type { Caller } from "../../auth/caller.ts";
import { may, PERMISSIONS, whereMay } from "../../auth/permissions.ts";
import { findUser, missingUser } from "../../auth/users.ts";
import type { Storage } from "../../storage/storage.ts";

const DAYS = 30;
const MOST_ITEMS = 5_000;

/** What a report is grouped by: the columns that name a group, and where their names come from. */
const GROUPS: Readonly<Record<UsageQuery["group"], { columns: RawBuilder<unknown>; names: RawBuilder<unknown> }>> = {
  day: { columns: sql`day`, names: sql`` },
  key: {
    columns: sql`api_key_id, api_key.name as api_key_name`,
    names: sql`left join api_key on api_key.id = api_key_id`,
  },
  user: { columns: sql`usage_day.user_id, username`, names: sql`join account on account.id = usage_day.user_id` },
};

/**
 * What runs have cost: the caller's, or a user's whom the caller manages; grouped by user, of all these at once.
 *
 * @throws {ApiProblem} user_not_found
 */
export async function reportUsage(storage: Storage, caller: Caller, query: UsageQuery): Promise<UsageReport> {
  const subject = await findUser(storage.db, query.user_id ?? caller.userId);
  // Law: not yours is not there.
  if (!may(caller, PERMISSIONS.readUsage, subject)) throw missingUser(subject.id);
  const ofUsers =
    query.group === "user" && query.user_id === undefined
      ? sql`(select id from account where ${whereMay(caller, PERMISSIONS.readUsage)})`
      : sql`(${subject.id})`;
  const until = query.to === undefined ? sql`(now() at time zone 'UTC')::date` : sql`${query.to}::date`;
  const since = query.from === undefined ? sql`${until} - ${DAYS - 1}::int` : sql`${query.from}::date`;
  const where = sql`where usage_day.user_id in ${ofUsers} and day between ${since} and ${until}`;
  const sums = sql`coalesce(sum(runs), 0)::int as runs, coalesce(sum(failed_runs), 0)::int as failed_runs,
    coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(cached_input_tokens), 0)::bigint as cached_input_tokens,
    coalesce(sum(output_tokens), 0)::bigint as output_tokens, coalesce(sum(reasoning_tokens), 0)::bigint as reasoning_tokens,
    case when count(*) = 0 then 0 else sum(cost_usd)::float8 end as cost_usd`;
  const { columns, names } = GROUPS[query.group];
  const by = query.group === "day" ? sql`1` : sql`1, 2`;
  const items = await sql<UsageItem>`
    select ${columns}, ${sums} from usage_day ${names} ${where} group by ${by} order by 1 limit ${MOST_ITEMS}`.execute(
    storage.db,
  );
  const totals = await sql<UsageReport["totals"]>`select ${sums} from usage_day ${where}`.execute(storage.db);
  const [total] = totals.rows;
  if (total === undefined) throw new Error("a sum without groups is always one row");
  return { items: items.rows, totals: total, quota: Quota.parse(subject.quota) };
}
