import { sql } from "kysely";
import { openEngine, type EngineChoice } from "../../../src/service/storage/engine.ts";
import { readStates, recordStates } from "../../../test/service/harness/record-states.ts";

/** What no row may say once nothing runs any more: a title, and a query that must give nothing. */
const CHECKS: readonly (readonly [string, string])[] = [
  ["a run that has not ended", "select id::text as what from run where ended_at is null"],
  [
    "a run with events that are not 1 to last_seq",
    `select r.id::text as what from run r left join run_event e on e.run_id = r.id group by r.id, r.last_seq
     having count(e.seq) <> r.last_seq or coalesce(max(e.seq), 0) <> r.last_seq or coalesce(min(e.seq), 1) <> 1`,
  ],
  [
    "a run without exactly one end, as its last event",
    `select r.id::text as what from run r left join run_event e on e.run_id = r.id and e.event = 'end'
     group by r.id, r.last_seq having count(e.seq) <> 1 or max(e.seq) <> r.last_seq`,
  ],
  [
    "a run whose end says another status than its row",
    `select r.id::text as what from run r join run_event e on e.run_id = r.id and e.event = 'end'
     where e.payload->>'status' <> r.status`,
  ],
  ["a request that still waits", "select request_id as what from run_request where status = 'queued'"],
  [
    "a dispatched request without its run",
    `select q.request_id as what from run_request q left join run r on r.request_pk = q.pk
     where q.status = 'dispatched' and r.id is null`,
  ],
  [
    "requests of a thread that were dispatched in another order than they came",
    `select earlier.request_id as what from run_request earlier join run_request later
     on later.thread_pk = earlier.thread_pk and later.pk > earlier.pk and later.dispatched_at < earlier.dispatched_at
     where earlier.queue_policy = 'enqueue' and later.queue_policy = 'enqueue'
     and earlier.kind = 'chat' and later.kind = 'chat'`,
  ],
  [
    "two runs of a thread at once",
    `select a.id::text as what from run a join run b on b.thread_pk = a.thread_pk and b.id > a.id
     and b.started_at < a.ended_at and a.started_at < b.ended_at`,
  ],
  [
    "two turns of one request",
    "select turn_request_id as what from run where turn_request_id is not null group by turn_request_id having count(*) > 1",
  ],
];

/** Looks at the rows of a service that has stopped. @returns faults, one sentence each */
export async function findFaults(database: EngineChoice): Promise<string[]> {
  const engine = await openEngine(database, { onConnectionLost: () => undefined });
  try {
    const faults: string[] = [];
    for (const [title, query] of CHECKS) {
      const { rows } = await sql.raw<{ what: string }>(query).execute(engine.db);
      faults.push(...rows.map(({ what }) => `${database.kind}: ${title}: ${what}`));
    }
    if (database.kind === "postgres") {
      const { unknown } = await readStates(engine.db);
      faults.push(...unknown.map((step) => `${database.kind}: a step that no state machine has: ${step}`));
    }
    return faults;
  } finally {
    await engine.close();
  }
}

/** Lets the database keep every step of its rows; PGlite has room for one process only, which is the service. */
export async function watchStates(database: EngineChoice): Promise<void> {
  if (database.kind === "pglite") return;
  const engine = await openEngine(database, { onConnectionLost: () => undefined });
  try {
    await recordStates(engine.db);
  } finally {
    await engine.close();
  }
}
