import { createHash } from "node:crypto";
import { sql } from "kysely";
import { fromKysely, fromPglite, PgBoss, type ConstructorOptions, type Db, type Job, type QueueOptions } from "pg-boss";
import type { Logger } from "pino";
import { z } from "zod";
import { catchUpWithClock } from "./clock-back.ts";
import { watchDueJobs } from "./due-jobs.ts";
import type { Engine } from "./engine.ts";
import { startJobWorker, type GroupLimit, type JobSource, type JobTurn, type JobWorker } from "./job-worker.ts";
import type { Transaction, TransactionScope } from "./transaction.ts";

/** The queues there are. A job is a hint that a row of this id has work. Law: the row is the truth. */
export const QUEUES = ["run", "turn", "task", "webhook", "sweep"] as const;
export type QueueName = (typeof QUEUES)[number];

/** How busy a queue is. */
export interface QueueLoad {
  readonly queue: QueueName;
  readonly waiting: number;
  /** Seconds since the oldest waiting job was due; 0 without one. */
  readonly lagSeconds: number;
}

/** Works on one row. Resolves when the row needs no more work; throws to be given the job again. */
export type JobHandler = (id: string, signal: AbortSignal, turn: JobTurn) => Promise<void>;

/** How the places of one process are shared. */
export interface Sharing {
  readonly groupLimit: GroupLimit;
  /** How long a job keeps its place at least while others wait for one; absent: as long as it takes. */
  readonly turnMs?: number;
}

/** Hints that rows have work; no room sees what carries them. */
export interface Jobs {
  /**
   * In the transaction that makes the row; a job of that id that exists already is left as it is.
   *
   * @param group - what the job is one of, where workers limit how many of one run at once
   */
  send(trx: Transaction, queue: QueueName, id: string, group?: string): Promise<void>;
  /** Outside: makes the job of a row that has work and may have lost its job. */
  ensure(queue: QueueName, id: string, group?: string): Promise<void>;
  /** Asks for a sweep: one in each 30 s in the whole cluster. */
  requestSweep(): Promise<void>;
  /** Takes jobs until `stop`. The signal aborts when the claim is lost, the job is too old, or the process stops. */
  work(queue: QueueName, concurrency: number, handler: JobHandler, sharing?: Sharing): Promise<void>;
  /**
   * Whether a worker has the job and renews it, or less than a lease has passed since one had it or since it waits for one.
   * A job that was restored from a backup is none until a worker has it.
   */
  isWorkedOn(queue: QueueName, id: string): Promise<boolean>;
  /** What waits in each queue of the whole cluster, and how long its oldest job has been due. */
  load(): Promise<readonly QueueLoad[]>;
  /** Takes no more jobs, aborts the running ones and gives them back, so that another process has them at once. */
  stop(timeoutMs: number): Promise<void>;
}

export interface JobsOptions {
  readonly engine: Engine;
  readonly scope: TransactionScope;
  readonly logger: Logger;
  /** A job whose worker has not renewed its claim for so long goes to another. */
  readonly leaseMs: number;
}

const SCHEMA = "tasks_boss";
/**
 * Where pg-boss notifies, in the sender's transaction, that a queue has a job. Polling finds it too. Law: the row is
 * the truth.
 */
const CHANNEL = `pgboss_${createHash("sha224").update(SCHEMA).digest("hex").slice(0, 24)}`;
const OWN_POOL = 4;
const POLL_MS = 2_000;
const SWEEP_SECONDS = 30;
const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3_600;
/** Attempts at a run, task, delivery or turn are counted by the room whose they are, not by the queue. */
const UNLIMITED = 100_000;
/** After 5 s, doubling to an hour. pg-boss draws each wait between its half and its whole. */
export const RETRY_WAITS = {
  retryDelay: 5,
  retryBackoff: true,
  retryDelayMax: HOUR_SECONDS,
} as const;

/** Starts the queues; safe in many processes at once. */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { engine, scope, logger } = options;
  const boss = new PgBoss(connectionOptions(options));
  let isStopping = false;
  const onFault = (error: unknown): void => {
    // "connection is not opened" during a stop is pg-boss's own pool.
    if (isStopping) logger.debug({ err: error }, "job queue");
    else logger.warn({ err: error }, "job queue");
  };
  boss.on("error", onFault);
  boss.on("warning", (warning) => logger.debug({ warning }, "job queue"));
  await boss.start();
  await createQueues(boss, options);
  if (engine.kind === "pglite") await failAbandoned(engine, boss);
  const workers = new Map<QueueName, JobWorker>();
  const wake = (isMeant: (each: [QueueName, JobWorker]) => boolean): void => {
    for (const each of workers) if (isMeant(each)) each[1].wake();
  };
  const unlisten = await engine.listener.listen(CHANNEL, {
    // A notice comes in the middle of the query that has caused it, and belongs to no transaction.
    onNotice: (queue) => scope.outside(() => wake(([name]) => name === queue)),
    onGap: () => scope.outside(() => wake(() => true)),
  });
  const unwatch = watchDueJobs({
    db: engine.db,
    schema: SCHEMA,
    everyMs: POLL_MS,
    queues: () => [...workers.keys()],
    onDue: (queue) => wake(([name]) => name === queue),
    onFault,
  });

  return {
    async send(trx, queue, id, group) {
      await boss.send(queue, { id }, { id, ...groupOf(group), db: fromKysely(trx) });
    },
    async ensure(queue, id, group) {
      scope.assertOutside();
      const [job] = await boss.findJobs(queue, { id });
      if (job?.state === "completed" || job?.state === "failed" || job?.state === "cancelled")
        await boss.deleteJob(queue, id);
      await boss.send(queue, { id }, { id, ...groupOf(group) });
    },
    async requestSweep() {
      scope.assertOutside();
      const moved = await catchUpWithClock(engine.db, SCHEMA, { seconds: HOUR_SECONDS, queues: ["turn", "webhook"] });
      if (moved > 0)
        logger.warn({ jobs: moved }, "the database's clock went back: jobs of the future were moved to now");
      await boss.send("sweep", {}, { singletonSeconds: SWEEP_SECONDS });
    },
    async work(queue, concurrency, handler, sharing) {
      scope.assertOutside();
      if (workers.has(queue)) throw new Error(`this process works on "${queue}" already`);
      const worker = startJobWorker({
        source: jobSource(engine, boss, queue),
        concurrency,
        ...sharing,
        renewMs: isLeased(queue) ? options.leaseMs / 4 : undefined,
        handler: (job, signal, turn) => handler(job.data.id ?? job.id, signal, turn),
        onFault,
      });
      workers.set(queue, worker);
    },
    async isWorkedOn(queue, id) {
      scope.assertOutside();
      const { rows } = await sql`
        select 1 from ${sql.id(SCHEMA, "job")}, lateral (select heartbeat_seconds * interval '1 second' as lease) as held
        where name = ${queue} and id = ${id} and state <= 'active'
          and coalesce(heartbeat_on + lease, start_after) > now() - lease`.execute(engine.db);
      return rows.length > 0;
    },
    async load() {
      scope.assertOutside();
      const { rows } = await sql<{ name: string; waiting: number; lag: number }>`
        select name, count(*)::int as waiting, extract(epoch from now() - min(start_after))::float8 as lag
        from ${sql.id(SCHEMA, "job")} where state in ('created', 'retry') and start_after <= now() group by name`.execute(
        engine.db,
      );
      return QUEUES.map((queue) => {
        const row = rows.find(({ name }) => name === queue);
        return { queue, waiting: row?.waiting ?? 0, lagSeconds: Math.max(0, row?.lag ?? 0) };
      });
    },
    async stop(timeoutMs) {
      isStopping = true;
      // All queues first, so that a job given back is not taken again here.
      for (const worker of workers.values()) worker.halt();
      await Promise.all([unwatch(timeoutMs), ...[...workers.values()].map((worker) => worker.stop(timeoutMs))]);
      await unlisten();
      await boss.stop({ graceful: false });
    },
  };
}

/** Makes the queues, or gives them this version's options, where that is not so yet; safe in many processes at once. */
async function createQueues(boss: PgBoss, options: JobsOptions): Promise<void> {
  const known = new Map((await boss.getQueues([...QUEUES])).map((queue) => [queue.name, queue]));
  for (const name of QUEUES) {
    const wanted = { ...queueOptions(name, options), notify: true };
    const found = known.get(name);
    if (found !== undefined && isSame(wanted, found)) continue;
    if (found === undefined) await boss.createQueue(name, wanted);
    await boss.updateQueue(name, wanted);
    // Its first use inside a transaction would use another connection: on PGlite that is a deadlock.
    await boss.findJobs(name, { id: NO_JOB });
  }
}

function isSame(wanted: object, found: object): boolean {
  const known = new Map<string, unknown>(Object.entries(found));
  return Object.entries(wanted).every(([option, value]) => known.get(option) === value);
}

/** Which jobs a renewal found; without them it is unknown which are lost. */
const Touched = z.object({ settled: z.array(z.string()).optional() });
type QueuedJob = Job<{ id?: string }>;

function jobSource(engine: Engine, boss: PgBoss, queue: QueueName): JobSource<QueuedJob> {
  return {
    fetch: (most, except) => boss.fetch<{ id?: string }>(queue, { batchSize: most, ignoreGroups: [...except] }),
    async listWaiting() {
      const { rows } = await sql<{ group_id: string }>`
        select distinct coalesce(group_id, '') as group_id from ${sql.id(SCHEMA, "job")}
        where name = ${queue} and state < 'active' and start_after <= now()`.execute(engine.db);
      return rows.map(({ group_id: group }) => group);
    },
    async complete(job) {
      await boss.complete(queue, job);
    },
    async fail(job, error) {
      await boss.fail(queue, job, error instanceof Error ? { message: error.message } : {});
    },
    async giveBack(job) {
      await boss.fail(queue, job, { message: "the process that had this job stopped, or gave its place to another" });
      // Another process need not wait for its next look.
      await sql`select pg_notify(${CHANNEL}, ${queue})`.execute(engine.db);
    },
    async touch(jobs) {
      const { settled } = Touched.parse(await boss.touch(queue, [...jobs]));
      return settled ?? jobs.map(({ id }) => id);
    },
  };
}

function groupOf(group: string | undefined): { group?: { id: string } } {
  return group === undefined ? {} : { group: { id: group } };
}

const NO_JOB = "00000000-0000-0000-0000-000000000000";

function isLeased(queue: QueueName): boolean {
  return queue === "run" || queue === "task";
}

function queueOptions(name: QueueName, { leaseMs }: JobsOptions): QueueOptions {
  switch (name) {
    case "run":
    case "task":
      return {
        retryLimit: UNLIMITED,
        retryDelay: 0,
        heartbeatSeconds: Math.ceil(leaseMs / 1_000),
        expireInSeconds: DAY_SECONDS,
        deleteAfterSeconds: HOUR_SECONDS,
      };
    case "turn":
      return { ...RETRY_WAITS, retryLimit: UNLIMITED, expireInSeconds: 180, deleteAfterSeconds: HOUR_SECONDS };
    case "webhook":
      return {
        ...RETRY_WAITS,
        retryLimit: UNLIMITED,
        expireInSeconds: 60,
        deleteAfterSeconds: HOUR_SECONDS,
      };
    case "sweep":
      return { retryLimit: 0, expireInSeconds: 300, deleteAfterSeconds: HOUR_SECONDS };
  }
}

function connectionOptions({ engine, scope }: JobsOptions): ConstructorOptions {
  const common: ConstructorOptions = {
    schema: SCHEMA,
    schedule: false,
    // Where there is only one process, no other can lose a claim.
    superviseIntervalSeconds: engine.kind === "pglite" ? 30 : 5,
    monitorIntervalSeconds: engine.kind === "pglite" ? 30 : 5,
    // Jobs that wait for other jobs: there are none.
    flowIntervalSeconds: HOUR_SECONDS,
    monitorVacuum: engine.kind === "postgres",
  };
  if (engine.boss.kind === "postgres") {
    return { ...common, connectionString: engine.boss.connectionString, max: OWN_POOL, application_name: "svc jobs" };
  }
  return { ...common, backend: "pglite", db: guardPglite(fromPglite(engine.boss.pglite), scope) };
}

/** Law: a transaction has one handle. What would wait for a transaction of its own caller throws at once. */
function guardPglite(db: Db, scope: TransactionScope): Db {
  return {
    ...db,
    executeSql(text, values) {
      scope.assertOutside();
      return db.executeSql(text, values);
    },
  };
}

/** The lock of the data directory proves that the process that had these jobs has ended: no need to wait for the lease. */
async function failAbandoned(engine: Engine, boss: PgBoss): Promise<void> {
  const { rows } = await sql<{ id: string; name: string }>`
    select id::text, name from ${sql.id(SCHEMA, "job")} where state = 'active'`.execute(engine.db);
  for (const { id, name } of rows) await boss.fail(name, id, { message: "the process that had this job is gone" });
}
