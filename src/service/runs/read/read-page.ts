import { sql } from "kysely";
import { RunEvent } from "../../protocol/events.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Storage } from "../../storage/storage.ts";

/** The run whose events are read, with what every event carries. */
export interface EventSource {
  readonly runId: string;
  readonly threadId: string;
  readonly requestId: string;
}

export interface EventPageResult {
  readonly events: readonly RunEvent[];
  readonly lastSeq: number;
  readonly hasEnded: boolean;
}

/**
 * What a page holds at most, or its last event goes beyond: events of megabytes are read and sent few at a time, since a
 * reader that takes nothing keeps its page in memory.
 */
const MOST_BYTES = 131_072;
/** How many are read before anything is known of their size. */
const FIRST_READ = 4;

/**
 * The events after a cursor, at most `limit`, fewer where they are large; at least one where there is one.
 *
 * @throws {ApiProblem} events_expired, cursor_beyond_end, run_not_found
 */
export async function readPage(
  storage: Storage,
  source: EventSource,
  afterSeq: number,
  limit: number,
): Promise<EventPageResult> {
  const events: RunEvent[] = [];
  let bytes = 0;
  let most = FIRST_READ;
  for (;;) {
    const wanted = Math.min(most, limit - events.length);
    const part = await readSome(storage, source, events.at(-1)?.seq ?? afterSeq, wanted);
    events.push(...part.events);
    bytes += part.bytes;
    const isWhole = part.events.length < wanted || events.length >= limit || bytes >= MOST_BYTES;
    if (isWhole) return { events, lastSeq: part.lastSeq, hasEnded: part.hasEnded };
    const meanBytes = bytes / events.length;
    most = Math.min(4 * most, Math.ceil((MOST_BYTES - bytes) / meanBytes));
  }
}

async function readSome(
  storage: Storage,
  source: EventSource,
  afterSeq: number,
  limit: number,
): Promise<EventPageResult & { readonly bytes: number }> {
  // One statement, so that the run's last event is the last of the events that were read.
  const rows = await storage.db
    .selectFrom("run")
    .leftJoin("run_event", (join) =>
      join
        .onRef("run_event.run_id", "=", "run.id")
        .on("run_event.seq", ">", afterSeq)
        .onRef("run_event.seq", "<=", "run.last_seq"),
    )
    .select(["run.last_seq", "run.ended_at", "run.events_expire_at"])
    .select(["run_event.seq", "run_event.event", "run_event.created_at"])
    // As text, which is parsed here and whose length is known.
    .select([sql<string | null>`payload::text`.as("payload"), sql<string | null>`native::text`.as("native")])
    .where("run.id", "=", source.runId)
    .orderBy("run_event.seq")
    .limit(limit)
    .execute();
  const [run] = rows;
  if (run === undefined) throw deleted(source.runId);
  const isExpired = run.ended_at !== null && run.events_expire_at === null;
  if (isExpired) throw new ApiProblem("events_expired", "the events of this run were deleted; its result stays");
  if (afterSeq > run.last_seq) {
    throw new ApiProblem("cursor_beyond_end", `the cursor ${afterSeq} is beyond the last event, ${run.last_seq}`, {
      last_seq: run.last_seq,
    });
  }
  const events: RunEvent[] = [];
  let bytes = 0;
  for (const { seq, event, payload, native, created_at } of rows) {
    if (seq === null || event === null || payload === null || created_at === null) continue;
    bytes += payload.length + (native?.length ?? 0);
    events.push(
      RunEvent.parse({
        schema_version: 1,
        seq,
        run_id: source.runId,
        thread_id: source.threadId,
        request_id: source.requestId,
        event,
        created_at: created_at.toISOString(),
        payload: parseStored(payload),
        ...(native === null ? {} : { native: parseStored(native) }),
      }),
    );
  }
  return { events, bytes, lastSeq: run.last_seq, hasEnded: run.ended_at !== null };
}

function parseStored(text: string): unknown {
  return JSON.parse(text);
}

/** The run's thread was deleted while it was read. */
export function deleted(runId: string): ApiProblem {
  return new ApiProblem("run_not_found", `the run ${JSON.stringify(runId)} was deleted`);
}
