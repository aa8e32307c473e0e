import { sql } from "kysely";
import type { Logger } from "pino";
import type { Storage } from "../../storage/storage.ts";
import { chunkTableName } from "../state/partitions.ts";

/** Chunks that may be counted beside the live ones for ever: a small index is made anew for less. */
const SMALL = 2_000;
/** Of the rest, one in so many may be of deleted chunks. */
const MOST_STALE = 20;

interface Partition {
  readonly no: number;
  readonly live: number;
  readonly deleted: number;
}

/**
 * Takes deleted chunks out of the statistics of pg_textsearch: it counts their words until they are vacuumed and its segments
 * merged, and PGlite does neither by itself. A word of a file that was indexed twenty times otherwise has a sixth of its weight.
 *
 * Made once for a process. Each call looks at the knowledge bases in which chunks were deleted since the one before,
 * the first call at all. About 50 µs for each live chunk of those that are worth it.
 */
export function createWordTidier(storage: Storage, logger: Logger): () => Promise<void> {
  const seen = new Map<number, number>();
  return async () => {
    for (const { no, live, deleted } of await readPartitions(storage)) {
      if (seen.get(no) === deleted) continue;
      const indexed = await countIndexed(storage, no);
      const stale = indexed - live;
      if (stale > 0 && stale * MOST_STALE >= live - SMALL) {
        const startedAt = performance.now();
        const table = chunkTableName(no);
        await sql`vacuum (analyze) ${sql.table(table)}`.execute(storage.db);
        await sql`select bm25_force_merge(${`${table}_bm25`})`.execute(storage.db);
        const tookMs = Math.round(performance.now() - startedAt);
        logger.info({ kbNo: no, live, stale, tookMs }, "words of deleted chunks were taken out of an index");
      }
      seen.set(no, deleted);
    }
  };
}

/** Knowledge bases that no file is being indexed in: the chunks of a half-made generation are not live, and stay. */
async function readPartitions({ db }: Storage): Promise<readonly Partition[]> {
  const { rows } = await sql<Partition>`
    select b.no, coalesce(sum(f.chunk_count), 0)::bigint as live,
      pg_stat_get_tuples_deleted(to_regclass('knowledge_chunk_' || b.no))::bigint as deleted
    from knowledge_base b left join knowledge_file f on f.kb_id = b.id
    where b.deleted_at is null and b.kb_type = 'local'
    group by b.no having count(*) filter (where f.status = 'indexing' or f.has_stale_chunks) = 0`.execute(db);
  return rows;
}

/** What the index counts as texts. @see bm25_summarize_index of pg_textsearch 1.5 */
async function countIndexed({ db }: Storage, kbNo: number): Promise<number> {
  const { rows } = await sql<{ summary: string }>`
    select bm25_summarize_index(${`${chunkTableName(kbNo)}_bm25`}) as summary`.execute(db);
  const [, count] = /total_docs: (\d+)/.exec(rows[0]?.summary ?? "") ?? [];
  if (count === undefined)
    throw new Error(`the index of knowledge base ${kbNo} does not show how many texts it counts`);
  return Number(count);
}
