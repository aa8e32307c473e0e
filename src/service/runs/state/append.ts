import { sql } from "kysely";
import type { NewRunEvent } from "../../protocol/events.ts";
import { json } from "../../storage/storable.ts";
import type { Storage } from "../../storage/storage.ts";
import { OwnershipLost } from "./failures.ts";
import type { Ownership } from "./rows.ts";

export interface AppendOptions {
  /** Where the turn's stream stands with these events. */
  readonly turnCursor?: number | undefined;
  /** Readers are notified at once. */
  readonly isNoticed: boolean;
  /** The attempt did its work with these: whatever ends it, it does not count as one that came to nothing. */
  readonly isFirstMove?: boolean;
}

/**
 * Appends events to a run that is owned, in one statement that is its own transaction: the ownership, the cursor and the events
 * are one (laws: one owner writes and events have no gaps), and a stream of events costs one round trip a batch. With a
 * cursor it is safe to repeat: where the
 * connection broke in the commit, the events may have been written.
 *
 * @throws {OwnershipLost}
 */
export async function append(
  storage: Storage,
  { runId, attempt }: Ownership,
  events: readonly NewRunEvent[],
  { turnCursor, isNoticed, isFirstMove }: AppendOptions,
): Promise<void> {
  const given = events.map(({ event, payload, native }, index) => ({ number: index + 1, event, payload, native }));
  const { rows } = await sql<{ last_seq: number }>`
    with owned as (
      update run set last_seq = last_seq + ${events.length}::int, turn_cursor = coalesce(${turnCursor ?? null}::bigint, turn_cursor)
      where id = ${runId} and attempt = ${attempt} and status in ('running', 'cancel_requested')
        and (${turnCursor ?? null}::bigint is null or turn_cursor < ${turnCursor ?? null}::bigint)
      returning id, last_seq
    ), written as (
      insert into run_event (run_id, seq, event, payload, native)
      select owned.id, owned.last_seq - ${events.length}::int + given.number, given.event, given.payload, given.native
      from owned, jsonb_to_recordset(${json(given)}) as given (number int, event text, payload jsonb, native jsonb)
    )${
      isFirstMove === true
        ? sql`, moved as (
      update run_attempt set has_moved = true from owned where run_id = owned.id and attempt = ${attempt}
    )`
        : sql``
    }
    select last_seq${isNoticed ? sql`, pg_notify('svc_events', id::text)` : sql``} from owned`.execute(storage.db);
  if (rows.length === 0 && !(await isWritten(storage, { runId, attempt }, turnCursor))) throw new OwnershipLost(runId);
}

async function isWritten(
  storage: Storage,
  { runId, attempt }: Pick<Ownership, "runId" | "attempt">,
  turnCursor: number | undefined,
): Promise<boolean> {
  if (turnCursor === undefined) return false;
  const run = await storage.db
    .selectFrom("run")
    .select("turn_cursor")
    .where("id", "=", runId)
    .where("attempt", "=", attempt)
    .where("status", "in", ["running", "cancel_requested"])
    .executeTakeFirst();
  return run !== undefined && run.turn_cursor >= turnCursor;
}
