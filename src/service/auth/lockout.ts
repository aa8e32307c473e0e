import { createHash } from "node:crypto";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { ApiProblem } from "../protocol/problems.ts";
import type { Storage } from "../storage/storage.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";
import { addressGroup } from "./address-group.ts";
import { isKnownAddress } from "./login-addresses.ts";

const DAY_MS = 86_400_000;

export interface LockoutLimits {
  /** Failures of one name from one address, and of one address, in a window. */
  readonly perName: number;
  readonly perAddress: number;
  readonly windowMs: number;
  /** Failures of one name from all addresses in a day; then one more for each part of the day that passes. */
  readonly perNameInDay: number;
}

/**
 * Counts failed logins in the database, so that it holds for all processes. Addresses count as `addressGroup` has them.
 *
 * The lock of a name, whatever the address, is for whoever changes addresses. It is slow, so that it is no way to lock a user out: it takes many
 * failures, lets one try through after each part of the day, and does not hold where the user has logged in before.
 */
export interface Lockout {
  /** @throws {ApiProblem} login_locked, with the seconds left */
  assertOpen(ip: string, name: string): Promise<void>;
  countFailure(ip: string, name: string): Promise<void>;
  /** A success resets the count of failures of that name from that address. */
  clear(ip: string, name: string): Promise<void>;
}

export function createLockout(storage: Storage, limits: LockoutLimits): Lockout {
  const bucketsOf = (ip: string, name: string): readonly (readonly [string, number])[] => [
    [`name:${addressGroup(ip)}:${describeName(name)}`, limits.perName],
    [`ip:${addressGroup(ip)}`, limits.perAddress],
  ];
  const stepMs = Math.ceil(DAY_MS / limits.perNameInDay);
  return {
    async assertOpen(ip, name) {
      const buckets = new Map(bucketsOf(ip, name));
      const rows = await storage.db
        .selectFrom("login_failure")
        .select([
          "bucket",
          "failures",
          sql<number>`ceil(extract(epoch from window_ends_at - now()))::int`.as("seconds"),
        ])
        .where("bucket", "in", [...buckets.keys()])
        .where(isOpen(limits.windowMs))
        .execute();
      const locks = rows.filter(({ bucket, failures }) => failures >= (buckets.get(bucket) ?? Infinity));
      if (locks.length > 0) throw locked(Math.max(...locks.map((lock) => lock.seconds)));
      const seconds = await readSlowLock(storage.db, name, stepMs);
      if (seconds > 0 && !(await isKnownAddress(storage.db, name, ip))) throw locked(seconds);
    },
    async countFailure(ip, name) {
      for (const [bucket] of bucketsOf(ip, name)) await countInWindow(storage, bucket, limits.windowMs);
      await countSlowly(storage.db, name, stepMs);
    },
    async clear(ip, name) {
      const [[bucket] = [""]] = bucketsOf(ip, name);
      await storage.db.deleteFrom("login_failure").where("bucket", "=", bucket).execute();
    },
  };
}

function locked(secondsLeft: number): ApiProblem {
  const seconds = Math.max(1, secondsLeft);
  const message = `too many failed logins; try again in ${seconds} s`;
  return new ApiProblem("login_locked", message, { remaining_seconds: seconds }, seconds);
}

/** The seconds until one more login of this name may be tried from an address that is not known; 0 or less: now. */
async function readSlowLock(db: Queries, name: string, stepMs: number): Promise<number> {
  const row = await db
    .selectFrom("login_failure")
    .select(
      sql<number>`ceil(extract(epoch from window_ends_at - now()) - ${(DAY_MS - stepMs) / 1_000}::float8)::int`.as(
        "seconds",
      ),
    )
    .where("bucket", "=", slowBucket(name))
    .where(isOpen(DAY_MS))
    .executeTakeFirst();
  return row?.seconds ?? 0;
}

/** Each failure moves the end of the name's window by one step, and time moves towards it: a leaky bucket of a day. */
async function countSlowly(db: Queries, name: string, stepMs: number): Promise<void> {
  const step = sql`${stepMs}::int * interval '1 millisecond'`;
  await sql`
    insert into login_failure as known (bucket, failures, window_ends_at)
    values (${slowBucket(name)}, 1, now() + ${step})
    on conflict (bucket) do update set
      failures = case when ${isOpen(DAY_MS, "known")} then known.failures + 1 else 1 end,
      window_ends_at = case when ${isOpen(DAY_MS, "known")}
        then least(known.window_ends_at + ${step}, now() + ${DAY_MS}::int * interval '1 millisecond')
        else excluded.window_ends_at end`.execute(db);
}

function slowBucket(name: string): string {
  return `everywhere:${describeName(name)}`;
}

/** Hashed: people type their password into the wrong field. */
function describeName(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 24);
}

/** Ends every lock of a name, from whatever address its failures came. */
export async function forgetFailures(trx: Transaction, name: string): Promise<void> {
  await trx
    .deleteFrom("login_failure")
    .where((where) =>
      where.or([where("bucket", "like", `name:%:${describeName(name)}`), where("bucket", "=", slowBucket(name))]),
    )
    .execute();
}

/** Whether a window is one of now: one that ends later than it is long was opened before the clock went back. */
function isOpen(windowMs: number, table = "login_failure"): RawBuilder<SqlBool> {
  const endsAt = sql.ref(`${table}.window_ends_at`);
  return sql`(${endsAt} > now() and ${endsAt} <= now() + ${windowMs}::int * interval '1 millisecond')`;
}

/** Counts one more in a bucket whose window begins with its first. @returns how many there are now */
export async function countInWindow(storage: Storage, bucket: string, windowMs: number): Promise<number> {
  const { rows } = await sql<{ failures: number }>`
    insert into login_failure as known (bucket, failures, window_ends_at)
    values (${bucket}, 1, now() + ${windowMs}::int * interval '1 millisecond')
    on conflict (bucket) do update set
      failures = case when ${isOpen(windowMs, "known")} then known.failures + 1 else 1 end,
      window_ends_at = case when ${isOpen(windowMs, "known")} then known.window_ends_at else excluded.window_ends_at end
    returning failures`.execute(storage.db);
  return rows[0]?.failures ?? 0;
}

/** How many a bucket's window holds. */
export async function countedInWindow(storage: Storage, bucket: string, windowMs: number): Promise<number> {
  const row = await storage.db
    .selectFrom("login_failure")
    .select("failures")
    .where("bucket", "=", bucket)
    .where(isOpen(windowMs))
    .executeTakeFirst();
  return row?.failures ?? 0;
}
