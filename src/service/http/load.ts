import { sql } from "kysely";
import type { QueueLoad } from "../storage/jobs.ts";
import type { Storage } from "../storage/storage.ts";
import type { RunTable, SandboxTable } from "../storage/tables.ts";
import { OPEN_RUN_STATUSES } from "../protocol/runs.ts";

/** How much there is to do in the whole cluster, as the rows are at this moment. */
export interface Load {
  readonly openRuns: readonly { readonly status: RunTable["status"]; readonly count: number }[];
  readonly queuedRequests: number;
  readonly jobs: readonly QueueLoad[];
  readonly sandboxes: readonly {
    readonly kind: SandboxTable["kind"];
    readonly state: SandboxTable["state"];
    readonly count: number;
  }[];
}

const STATES = ["starting", "ready", "quiescing", "stopped", "failed", "deleting"] as const;
/** Prometheus gives a scrape 10 s. */
const ANSWER_MS = 5_000;

/** Reads it; undefined where the database does not answer in time. Reads partial indexes and one small table. */
export async function readLoad(storage: Storage, onFault: (error: unknown) => void): Promise<Load | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ANSWER_MS);
  const reading = read(storage).catch((error: unknown) => {
    onFault(error);
    return undefined;
  });
  try {
    return await Promise.race([reading, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function read(storage: Storage): Promise<Load> {
  const count = sql<number>`count(*)::int`.as("count");
  const runs = await storage.db
    .selectFrom("run")
    .select(["status", count])
    .where("status", "in", OPEN_RUN_STATUSES)
    .groupBy("status")
    .execute();
  const { count: queuedRequests } = await storage.db
    .selectFrom("run_request")
    .select(count)
    .where("status", "=", "queued")
    .executeTakeFirstOrThrow();
  const sandboxes = await storage.db
    .selectFrom("sandbox")
    .select(["kind", "state", count])
    .groupBy(["kind", "state"])
    .execute();
  const kinds = [...new Set(sandboxes.map(({ kind }) => kind))];
  return {
    // What there is none of is 0, not absent: an alert on it would see nothing.
    openRuns: OPEN_RUN_STATUSES.map((status) => ({
      status,
      count: runs.find((row) => row.status === status)?.count ?? 0,
    })),
    queuedRequests,
    jobs: await storage.jobs.load(),
    sandboxes: kinds.flatMap((kind) =>
      STATES.map((state) => ({
        kind,
        state,
        count: sandboxes.find((row) => row.kind === kind && row.state === state)?.count ?? 0,
      })),
    ),
  };
}
