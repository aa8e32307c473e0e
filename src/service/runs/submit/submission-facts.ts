import { sql } from "kysely";
import type { AgentRow } from "../../agents/agents.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Transaction } from "../../storage/transaction.ts";
import type { Intent } from "./intent.ts";
import type { RunRow } from "../state/rows.ts";
import { OPEN_RUNS } from "../../storage/open-runs.ts";

/** The run that blocks a thread, as far as a submission looks at it. */
export type Blocking = Pick<RunRow, "id" | "status" | "request_pk">;

/** What decides about a submission. */
export interface SubmissionFacts {
  /** The agent of this slug, whether or not the caller may use it. */
  readonly agent: AgentRow | undefined;
  /** The user has a request of this id already. */
  readonly isKnown: boolean;
  readonly blocking: Blocking | undefined;
  /** How many requests wait in the thread. */
  readonly waiting: number;
  readonly hasSteer: boolean;
}

interface FactColumns {
  readonly is_known: boolean;
  readonly waiting: number;
  readonly has_steer: boolean;
  readonly has_agent: boolean;
  readonly blocking_id: string | null;
  readonly blocking_status: RunRow["status"] | null;
  readonly blocking_request_pk: number | null;
}

/**
 * Reads all facts in one statement. What is read of a thread stays so only while its lock is held.
 *
 * @param threadPk - undefined where there is no thread yet: nothing waits in it and nothing blocks it
 */
export async function readFacts(
  trx: Transaction,
  { userId }: Pick<Caller, "userId">,
  { requestId, agentSlug }: Pick<Intent, "requestId" | "agentSlug">,
  threadPk: number | undefined,
): Promise<SubmissionFacts> {
  const thread = sql`${threadPk ?? null}::bigint`;
  const { rows } = await sql<FactColumns & AgentRow>`
    select queue.waiting, queue.has_steer, known.pk is not null as is_known, agent.id is not null as has_agent,
      run.id as blocking_id, run.status as blocking_status, run.request_pk as blocking_request_pk, agent.*
    from (select count(*)::int as waiting, coalesce(bool_or(queue_policy = 'steer'), false) as has_steer
      from run_request where thread_pk = ${thread} and status = 'queued') as queue
    left join run_request as known on known.user_id = ${userId} and known.request_id = ${requestId}
    left join agent on agent.slug = ${agentSlug}
    left join run on run.thread_pk = ${thread} and (run.status in ${OPEN_RUNS}
      or (run.status = 'interrupted' and run.released_at is null))`.execute(trx);
  const [row] = rows;
  if (row === undefined) throw new Error("an aggregate has one row");
  const { is_known, waiting, has_steer, has_agent, blocking_id, blocking_status, blocking_request_pk, ...agent } = row;
  const blocking =
    blocking_id === null || blocking_status === null || blocking_request_pk === null
      ? undefined
      : { id: blocking_id, status: blocking_status, request_pk: blocking_request_pk };
  return { agent: has_agent ? agent : undefined, isKnown: is_known, blocking, waiting, hasSteer: has_steer };
}
