import type { Logger } from "pino";
import { openEngine, type Engine, type EngineChoice } from "./engine.ts";
import { startJobs, type Jobs } from "./jobs.ts";
import type { Subscription } from "./listen.ts";
import { assertMigrated, migrate } from "./migrate.ts";
import { createTransactionScope, type Queries, type Transaction } from "./transaction.ts";

/** The database, as every room sees it. */
export interface Storage {
  readonly engine: EngineChoice["kind"];
  /**
   * For single statements. @throws {OutsideTransactionError} inside a transaction (law: a transaction has one handle)
   */
  readonly db: Queries;
  /** Runs `fn` once more, up to three times, when the database asks for it; so it only queries. */
  transaction<T>(fn: (trx: Transaction) => Promise<T>): Promise<T>;
  /** Inside a transaction: runs `work` when it is committed, never when it is undone. */
  afterCommit(work: () => void): void;
  /** @returns ends the subscription */
  listen(channel: Channel, subscription: Subscription): Promise<() => Promise<void>>;
  /** Takes one of the notices that this process may send at any time; false when they are used up for now. */
  hasNoticeToSpare(): boolean;
  readonly jobs: Jobs;
  /** Gives jobs back, then closes. Safe to call twice. */
  close(jobsTimeoutMs?: number): Promise<void>;
}

/** A commit with a notice takes one lock for the whole cluster of PostgreSQL, which some thousands a second fill. */
const NOTICES_PER_SECOND = 100;

/** What is sent by NOTIFY: events of a run, controls of runs and tasks, a thread's queue. Payloads are ids. */
export type Channel = "svc_events" | "svc_control" | "svc_requests";

export interface StorageOptions {
  readonly engine: EngineChoice;
  readonly logger: Logger;
  /** False: refuse an older schema instead of changing it. */
  readonly isMigrating: boolean;
  readonly leaseMs: number;
  /** PGlite has ended by itself: the process has to end, too. */
  readonly onDatabaseEnded?: ((error: Error) => void) | undefined;
}

/**
 * Opens the database, brings it to this program's schema and starts the queues.
 *
 * @throws {SchemaOutdated} when the schema is older and must not be changed
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { logger } = options;
  const engine = await openEngine(options.engine, {
    onConnectionLost: (error) => logger.warn({ err: error }, "a database connection was lost"),
    onDatabaseEnded: (error) => options.onDatabaseEnded?.(error),
  });
  try {
    return await startStorage(engine, options);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function startStorage(engine: Engine, { logger, isMigrating, leaseMs }: StorageOptions): Promise<Storage> {
  const scope = createTransactionScope();
  if (isMigrating) {
    const steps = await migrate(engine.db);
    if (steps.length > 0) logger.info({ steps }, "database migrated");
  } else {
    await assertMigrated(engine.db);
  }
  const jobs = await startJobs({ engine, scope, logger, leaseMs });
  let closing: Promise<void> | undefined;
  return {
    engine: engine.kind,
    get db() {
      scope.assertOutside();
      return engine.db;
    },
    transaction: (fn) => scope.transaction(engine.db, fn),
    afterCommit: (work) => scope.afterCommit(work),
    listen: (channel, { onNotice, onGap }) =>
      engine.listener.listen(channel, {
        // A notice comes in the middle of the query that has caused it, and belongs to no transaction.
        onNotice: (payload) => scope.outside(() => onNotice(payload)),
        onGap: () => scope.outside(onGap),
      }),
    hasNoticeToSpare: engine.kind === "pglite" ? () => true : createAllowance(NOTICES_PER_SECOND),
    jobs,
    close(jobsTimeoutMs = 1_000) {
      return (closing ??= (async () => {
        try {
          await jobs.stop(jobsTimeoutMs);
        } finally {
          await engine.close();
        }
      })());
    },
  };
}

/** So many a second, and no more than that at once. */
function createAllowance(perSecond: number): () => boolean {
  let [left, at] = [perSecond, performance.now()];
  return () => {
    const now = performance.now();
    left = Math.min(perSecond, left + ((now - at) / 1_000) * perSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
