import { join } from "node:path";
import { sql } from "kysely";
import { chunkTableName } from "../../../../src/service/knowledge/state/partitions.ts";
import { tokenize } from "../../../../src/service/knowledge/indexing/tokens.ts";
import type { EngineName } from "../../../soak/service/stage.ts";
import { percentile, type Figure } from "../../figures.ts";
import { timed } from "../../timed.ts";
import { askBare, insertBare } from "./bare.ts";
import { queries, sections } from "./corpus.ts";
import { measureReopening } from "./reopen.ts";
import { withKnowledge, type KnowledgeStage } from "./stage.ts";

/** A section is one chunk: 20 files of 5 000 are 100 000. */
const FILES = 20;
const SECTIONS = 5_000;
const QUERIES = 60;
const BARE_ROWS = 10_000;

/** A knowledge base of 100 000 chunks: how fast it is filled, how soon it answers words, what it takes, what goes away. */
export async function benchScale(engine: EngineName, directory: string): Promise<Figure[]> {
  const figures = await withKnowledge(engine, directory, async (stage) => {
    const few = await fill(stage, 0, 2);
    const atFew = await measureQueries(stage, few.chunks);
    const bare = await insertBare(stage, BARE_ROWS);
    const many = await fill(stage, 2, FILES);
    const chunks = few.chunks + many.chunks;
    const perSecond = many.chunks / (many.tookMs / 1_000);
    const atMany = await measureQueries(stage, chunks);
    return [
      {
        measure: `knowledge ${engine}: ${many.chunks} chunks parsed and indexed`,
        turnd: `${perSecond.toFixed(0)} /s`,
        yardstick: `${bare.toFixed(0)} /s, bare inserts with the same indexes`,
        ratio: perSecond / bare,
      },
      atFew,
      atMany,
      await measureSize(stage),
      await measureDeletion(stage, chunks),
    ];
  });
  return engine === "pglite" ? [...figures, ...(await measureReopening(join(directory, engine, "data")))] : figures;
}

async function fill(stage: KnowledgeStage, from: number, to: number): Promise<{ chunks: number; tookMs: number }> {
  const before = await countChunks(stage);
  const files = Array.from({ length: to - from }, (_none, index) => from + index);
  const items = await stage.upload(files.map((file) => [`${file}.md`, sections(SECTIONS, file + 10)] as const));
  const tookMs = await stage.import(items);
  return { chunks: (await countChunks(stage)) - before, tookMs };
}

async function countChunks({ storage }: KnowledgeStage): Promise<number> {
  const { chunks } = await storage.db
    .selectFrom("knowledge_file")
    .select(({ fn }) => fn.sum<number | null>("chunk_count").as("chunks"))
    .executeTakeFirstOrThrow();
  return chunks ?? 0;
}

/** Each question to both, one after the other, so that what the machine does meanwhile is both's. */
async function measureQueries(stage: KnowledgeStage, chunks: number): Promise<Figure> {
  const [answers, plain]: [number[], number[]] = [[], []];
  for (const query of queries(QUERIES)) {
    answers.push(await timed(() => stage.knowledge.retrieve(stage.base, { query, options: {} })));
    plain.push(await timed(() => askBare(stage, tokenize(query))));
  }
  const [ours, bare] = [percentile(answers, 0.5), percentile(plain, 0.5)];
  return {
    measure: `knowledge ${stage.engine}: retrieve from ${chunks} chunks, p50 and longest`,
    turnd: `${ours.toFixed(1)}, ${Math.max(...answers).toFixed(0)} ms`,
    yardstick: `3 × ${bare.toFixed(1)} + 5 ms; ${Math.max(...plain).toFixed(0)} the longest of the engine's bare query`,
    ratio: ours / (3 * bare + 5),
    target: "<= 1",
  };
}

/** All of the partition beside only the text and its tokens. */
async function measureSize({ engine, storage, base }: KnowledgeStage): Promise<Figure> {
  const name = chunkTableName(base.no);
  const { rows } = await sql<{ total: number; indexes: number; texts: number }>`
    select pg_total_relation_size(${name}::regclass)::bigint as total, pg_indexes_size(${name}::regclass)::bigint as indexes,
      (select sum(octet_length(content) + octet_length(tokens)) from ${sql.table(name)})::bigint as texts`.execute(
    storage.db,
  );
  const { total = 0, indexes = 0, texts = 0 } = rows[0] ?? {};
  const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
  return {
    measure: `knowledge ${engine}: size on disk`,
    turnd: `${megabytes(total)} MiB (indexes ${megabytes(indexes)})`,
    yardstick: `${megabytes(texts)} MiB, the texts and their tokens`,
    ratio: total / texts,
  };
}

/** A tenth of the files, beside one statement that deletes as many chunks. */
async function measureDeletion(stage: KnowledgeStage, chunks: number): Promise<Figure> {
  const { storage, base, engine } = stage;
  const rows = await storage.db
    .selectFrom("knowledge_file")
    .select("id")
    .orderBy("id")
    .limit(FILES / 5)
    .execute();
  const [ours = [], others = []] = [rows.slice(0, FILES / 10), rows.slice(FILES / 10)].map((half) =>
    half.map(({ id }) => id),
  );
  const tookMs = await stage.deleteFiles(ours);
  const bareMs = await timed(() =>
    sql`delete from ${sql.table(chunkTableName(base.no))} where kb_no = ${base.no}::int
      and file_id = any(${others}::text[])`.execute(storage.db),
  );
  return {
    measure: `knowledge ${engine}: ${ours.length} of ${FILES} files deleted, ${chunks / 10} chunks`,
    turnd: `${tookMs.toFixed(0)} ms`,
    yardstick: `${bareMs.toFixed(0)} ms, one statement`,
    ratio: tookMs / bareMs,
  };
}
