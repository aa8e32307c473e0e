import { sql } from "kysely";
import type { Chunking } from "../../protocol/knowledge-bases.ts";
import { ObjectMissing } from "../../storage/objects.ts";
import { json, storableText } from "../../storage/storable.ts";
import type { KnowledgeFileError } from "../../storage/knowledge-tables.ts";
import type { Transaction } from "../../storage/transaction.ts";
import type { BaseRow } from "../state/access.ts";
import { readChunking } from "../state/base-view.ts";
import { DEFAULT_CHUNKING, type Chunk } from "../indexing/chunk.ts";
import { cleanFile } from "../files/clean-file.ts";
import { textToEmbed, type Embedded } from "../models/embed.ts";
import type { FileRow } from "../state/file-view.ts";
import { ModelServerFailed } from "../models/model-server.ts";
import { ParseFailed } from "../parse/failures.ts";
import type { ChunkSettings } from "../parse/parser.ts";
import type { ClaimedWork } from "./parse-file.ts";
import { chunkTable, deleteChunks, vectorTable } from "../state/partitions.ts";
import { failFile, finishIndex, holdClaim } from "../state/claims.ts";
import type { KnowledgeWorker } from "./worker-context.ts";

/** Why a file cannot be indexed, beside the parser's failures. */
class IndexFailed extends Error {
  readonly error: KnowledgeFileError;

  constructor(code: string, message: string, retryable: boolean) {
    super(message);
    this.name = "IndexFailed";
    this.error = { code, message, retryable };
  }
}

/** The claim is another's: this owner stops without an error. Law: one owner or none. */
class ClaimLost extends Error {
  constructor() {
    super("the claim of the file is another's now");
    this.name = "ClaimLost";
  }
}

interface IndexCounts {
  readonly chunks: number;
  readonly cutTexts: number;
}

/**
 * Indexes one claimed file: chunks of the next generation in batches, vectors beside them, then one statement that puts the
 * new generation in the old one's place, once it has been counted and is whole. Law: the file's status is the verdict.
 *
 * @returns the file as it is now; undefined when the claim was lost
 * @throws the signal's reason, and every fault that does not come from the file itself
 */
export async function indexFile(
  worker: KnowledgeWorker,
  work: ClaimedWork,
  base: BaseRow,
  chunking: Chunking | undefined,
): Promise<FileRow | undefined> {
  const { row, owner, signal } = work;
  worker.onStep?.("index.claimed", row.id);
  try {
    const made = await writeChunks(worker, work, base, chunkSettings(worker, base, chunking));
    worker.onStep?.("index.written", row.id);
    const finished = await finish(work, base, made);
    worker.onStep?.("index.finished", row.id);
    if (finished.has_stale_chunks) await cleanFile(worker.storage, base.no, row.id);
    return finished;
  } catch (error) {
    if (error instanceof ClaimLost) return undefined;
    signal.throwIfAborted();
    const failure = describeFailure(error);
    if (failure === undefined) throw error;
    const failed = await work.transaction((trx) => failFile(trx, { fileId: row.id, work: "index", owner }, failure));
    if (failed !== undefined) await cleanFile(worker.storage, base.no, row.id);
    return failed;
  }
}

function chunkSettings({ maxChunks }: KnowledgeWorker, base: BaseRow, given: Chunking | undefined): ChunkSettings {
  const { target_tokens, max_tokens, overlap_tokens } = { ...readChunking(base), ...given };
  const targetTokens = target_tokens ?? DEFAULT_CHUNKING.targetTokens;
  const overlapTokens = overlap_tokens ?? DEFAULT_CHUNKING.overlapTokens;
  return {
    targetTokens,
    maxTokens: Math.max(targetTokens, max_tokens ?? DEFAULT_CHUNKING.maxTokens),
    overlapTokens: Math.min(overlapTokens, Math.floor((targetTokens - 1) / 2)),
    maxChunks,
  };
}

async function writeChunks(
  worker: KnowledgeWorker,
  work: ClaimedWork,
  base: BaseRow,
  settings: ChunkSettings,
): Promise<IndexCounts> {
  const { row, signal } = work;
  if (row.markdown_key === null) throw new Error(`file ${row.id} has no Markdown`);
  const markdown = await worker.objects.get(row.markdown_key);
  let chunks = 0;
  let cutTexts = 0;
  try {
    for await (const batch of worker.parser.chunk(markdown, settings, signal)) {
      const embedded = await embed(worker, base, batch, signal);
      const first = chunks;
      await work.transaction(async (trx) => {
        if (!(await holdClaim(trx, row.id, work.owner))) throw new ClaimLost();
        // What an owner before left of this generation.
        if (first === 0)
          await deleteChunks(trx, base.no, {
            fileIds: [row.id],
            keep: row.chunk_count > 0 ? row.generation : undefined,
          });
        const ids = await insertChunks(trx, worker, base, row, batch, first);
        if (embedded !== undefined && base.embedding_model_spec !== null) {
          const vectors = embedded.vectors.map((vector, index) => ({ chunkId: ids[index] ?? 0, vector }));
          await worker.vectors.write(trx, base.no, base.embedding_model_spec, vectors);
        }
      });
      if (first === 0) worker.onStep?.("index.begun", row.id);
      chunks += batch.length;
      cutTexts += embedded?.cut ?? 0;
    }
  } finally {
    markdown.destroy();
  }
  if (chunks === 0) throw new IndexFailed("no_chunks", "the Markdown has no text to index", false);
  return { chunks, cutTexts };
}

/** @returns the ids, in the order of the chunks */
async function insertChunks(
  trx: Transaction,
  { lexical }: KnowledgeWorker,
  base: BaseRow,
  row: FileRow,
  batch: readonly Chunk[],
  first: number,
): Promise<number[]> {
  const rows = batch.map((chunk, index) => ({
    chunk_index: first + index,
    content: storableText(chunk.content),
    heading: storableText(chunk.heading),
    start_line: chunk.startLine,
    end_line: chunk.endLine,
    start_char: chunk.startChar,
    end_char: chunk.endChar,
    page: chunk.page,
    tokens: chunk.tokens,
    token_count: chunk.estimatedTokens,
    term_count: chunk.tokenCount,
  }));
  const made = await sql<{ id: number; chunk_index: number }>`
    insert into ${chunkTable(base.no)} (kb_no, file_id, generation, chunk_index, content, heading, start_line, end_line,
      start_char, end_char, page, tokens, token_count, term_count, terms)
    select ${base.no}::int, ${row.id}, ${row.generation + 1}::int, c.chunk_index, c.content, c.heading, c.start_line,
      c.end_line, c.start_char, c.end_char, c.page, c.tokens, c.token_count, c.term_count,
      ${lexical.terms(sql<string>`c.tokens`)}
    from jsonb_to_recordset(${json(rows)}) as c (chunk_index int, content text, heading text, start_line int,
      end_line int, start_char int, end_char int, page int, tokens text, token_count int, term_count int)
    order by c.chunk_index
    returning id, chunk_index`.execute(trx);
  return made.rows.toSorted((left, right) => left.chunk_index - right.chunk_index).map(({ id }) => id);
}

async function embed(
  { embedder, storage, vectors }: KnowledgeWorker,
  base: BaseRow,
  batch: readonly Chunk[],
  signal: AbortSignal,
): Promise<Embedded | undefined> {
  const model = base.embedding_model_spec;
  if (model === null) return undefined;
  if (embedder === undefined)
    throw new IndexFailed(
      "embedding_failed",
      "this knowledge base has an embedding model, and no service is set",
      true,
    );
  if (vectors.mostChunks !== undefined) {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${vectorTable(base.no)}`.execute(storage.db);
    if ((rows[0]?.count ?? 0) + batch.length > vectors.mostChunks) {
      const message = `without pgvector a knowledge base has at most ${vectors.mostChunks} chunks with vectors`;
      throw new IndexFailed("vector_store_unavailable", message, false);
    }
  }
  const embedded = await embedder.embed(model, batch.map(textToEmbed), signal);
  const dims = embedded.vectors[0]?.length ?? 0;
  // Fixed by the first answer.
  const known = await storage.db
    .updateTable("knowledge_base")
    .set({ embedding_dims: sql<number>`coalesce(embedding_dims, ${dims}::int)` })
    .where("id", "=", base.id)
    .where("embedding_model_spec", "=", model)
    .returning("embedding_dims")
    .executeTakeFirst();
  if (known === undefined)
    throw new IndexFailed("embedding_failed", "the embedding model was changed meanwhile: index again", true);
  if (known.embedding_dims !== dims) {
    const message = `the model gave ${dims} dimensions, this knowledge base has ${known.embedding_dims}`;
    throw new IndexFailed("embedding_dims_mismatch", message, false);
  }
  return embedded;
}

async function finish({ row, owner, transaction }: ClaimedWork, base: BaseRow, made: IndexCounts): Promise<FileRow> {
  return transaction(async (trx) => {
    const generation = row.generation + 1;
    if (!(await holdClaim(trx, row.id, owner))) throw new ClaimLost();
    const { rows } = await sql<{ chunks: number; estimated: number; terms: number; vectors: number }>`
      select count(*)::int as chunks, coalesce(sum(c.token_count), 0)::int as estimated,
        coalesce(sum(c.term_count), 0)::bigint as terms, count(v.chunk_id)::int as vectors
      from ${chunkTable(base.no)} c
      left join ${vectorTable(base.no)} v
        on v.kb_no = c.kb_no and v.chunk_id = c.id and v.model = ${base.embedding_model_spec}
      where c.kb_no = ${base.no}::int and c.file_id = ${row.id} and c.generation = ${generation}::int`.execute(trx);
    const [counted] = rows;
    const vectors = base.embedding_model_spec === null ? 0 : made.chunks;
    if (counted?.chunks !== made.chunks || counted.vectors !== vectors) {
      const found = `${counted?.chunks ?? 0} chunks and ${counted?.vectors ?? 0} vectors`;
      throw new IndexFailed("storage_error", `${made.chunks} chunks were made, ${found} are stored`, true);
    }
    const finished = await finishIndex(trx, row.id, owner, {
      generation,
      chunks: counted.chunks,
      estimatedTokens: counted.estimated,
      terms: counted.terms,
      vectors: counted.vectors,
      hasOldChunks: row.chunk_count > 0,
      warnings:
        made.cutTexts === 0 ? [] : [`${made.cutTexts} chunks were too long for the embedding model and were cut`],
    });
    if (finished === undefined) throw new ClaimLost();
    return finished;
  });
}

/** What a fault means for the file; undefined when it does not come from the file: another attempt may succeed. */
function describeFailure(error: unknown): KnowledgeFileError | undefined {
  if (error instanceof IndexFailed) return error.error;
  if (error instanceof ParseFailed) return { code: error.code, message: error.message, retryable: error.isRetryable };
  if (error instanceof ModelServerFailed) return { code: "embedding_failed", message: error.message, retryable: true };
  if (error instanceof ObjectMissing)
    return {
      code: "object_missing",
      message: "the Markdown is not in the object store: parse again",
      retryable: false,
    };
  return undefined;
}
