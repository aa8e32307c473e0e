import { sql, type RawBuilder } from "kysely";
import type { Storage } from "../../storage/storage.ts";
import { chunkTable, chunkTableName } from "../state/partitions.ts";
import { B, inverseFrequency, K1, type Lexical, type LexicalHit, type LexicalQuery } from "./lexical.ts";

/** Chunks whose exact score is computed. */
const CANDIDATES = 300;
/** Posting lists are read, rarest term first, until they hold so many chunks or so large a part of the knowledge base. */
const MOST_POSTINGS = 20_000;
const MOST_PART = 0.1;

interface Candidate {
  readonly id: number;
  readonly tokens: string;
}

interface Statistics {
  readonly documents: number;
  readonly terms: number;
}

/** BM25 on any PostgreSQL from 15 on: posting lists from a GIN index, the exact score of the best candidates here. */
export const gin: Lexical = {
  name: "bm25-gin",
  async createIndex(trx, kbNo) {
    await sql`create index ${sql.id(`${chunkTableName(kbNo)}_terms`)} on ${chunkTable(kbNo)} using gin (terms)`.execute(
      trx,
    );
  },
  // As literals: no dictionary and no locale of the server decides what a term is.
  terms: (tokens) =>
    sql`(select string_agg(distinct quote_literal(token), ' ') from unnest(string_to_array(${tokens}, ' ')) token
      where token <> '')::tsvector`,
  async search(storage, query) {
    const asked = countTerms(query.terms);
    if (asked.size === 0 || query.fileIds?.length === 0) return [];
    const statistics = await readStatistics(storage, query.kbId);
    if (statistics.documents === 0) return [];
    const { frequencies, candidates } = await readCandidates(storage, query, [...asked.keys()], statistics);
    const meanLength = statistics.terms / statistics.documents;
    const weights = new Map(
      [...asked].map(([term, count]) => [
        term,
        count * inverseFrequency(statistics.documents, frequencies.get(term) ?? 0),
      ]),
    );
    return candidates
      .map((candidate) => score(candidate, weights, meanLength))
      .toSorted((left, right) => right.score - left.score || left.chunkId - right.chunkId)
      .slice(0, query.limit);
  },
};

function countTerms(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

/** From the files' rows: a count over the chunks themselves would read them all. */
async function readStatistics(storage: Storage, kbId: string): Promise<Statistics> {
  const { rows } = await sql<Statistics>`
    select coalesce(sum(chunk_count), 0)::bigint as documents, coalesce(sum(term_count), 0)::bigint as terms
    from knowledge_file where kb_id = ${kbId} and chunk_count > 0`.execute(storage.db);
  return rows[0] ?? { documents: 0, terms: 0 };
}

async function readCandidates(
  storage: Storage,
  { kbNo, fileIds }: LexicalQuery,
  terms: readonly string[],
  { documents }: Statistics,
): Promise<{ frequencies: Map<string, number>; candidates: Candidate[] }> {
  const table = chunkTable(kbNo);
  const only = fileIds === undefined ? sql`` : sql`and c.file_id = any(${[...fileIds]}::text[])`;
  const postings = Math.max(MOST_POSTINGS, Math.ceil(documents * MOST_PART));
  const { rows } = await sql<{ frequencies: Record<string, number>; candidates: Candidate[] | null }>`
    with list as materialized (
      select t.term, array(
        select c.id from ${table} c
        join knowledge_file f on f.id = c.file_id and f.generation = c.generation and f.chunk_count > 0
        where c.kb_no = ${kbNo}::int and c.terms @@ ${literal(sql.ref("t.term"))}
      ) as ids
      from unnest(${[...terms]}::text[]) as t (term)
    ), taken as (
      select ids, ${frequencyOf(documents)} as idf,
        coalesce(sum(cardinality(ids)) over (
          order by cardinality(ids), term rows between unbounded preceding and 1 preceding
        ), 0) as before
      from list where cardinality(ids) > 0
    ), best as (
      select posting.id, sum(taken.idf) as weight
      from taken cross join lateral unnest(taken.ids) as posting (id)
      where taken.before < ${postings}::int
      group by posting.id
    ), live as (
      select c.id, c.tokens from best
      join ${table} c on c.kb_no = ${kbNo}::int and c.id = best.id ${only}
      order by best.weight desc, c.id limit ${CANDIDATES}::int
    )
    select (select jsonb_object_agg(term, cardinality(ids)) from list) as frequencies,
      (select jsonb_agg(jsonb_build_object('id', id, 'tokens', tokens)) from live) as candidates`.execute(storage.db);
  const [row] = rows;
  return {
    frequencies: new Map(Object.entries(row?.frequencies ?? {})),
    candidates: row?.candidates ?? [],
  };
}

function literal(term: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`quote_literal(${term})::tsquery`;
}

/** Beside `inverseFrequency`, for the choice of candidates. */
function frequencyOf(documents: number): RawBuilder<number> {
  return sql<number>`ln(1 + greatest(${documents}::float8 - cardinality(ids) + 0.5, 0.5) / (cardinality(ids) + 0.5))`;
}

function score({ id, tokens }: Candidate, weights: ReadonlyMap<string, number>, meanLength: number): LexicalHit {
  const words = tokens.split(" ");
  const counts = new Map<string, number>();
  for (const word of words) if (weights.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const norm = K1 * (1 - B + (B * words.length) / meanLength);
  let total = 0;
  for (const [word, count] of counts) total += ((weights.get(word) ?? 0) * count * (K1 + 1)) / (count + norm);
  return { chunkId: id, score: total };
}
