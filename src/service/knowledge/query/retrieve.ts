import { sql } from "kysely";
import type { Logger } from "pino";
import { defined } from "../../../kit/defined.ts";
import type { RetrieveOptions, SearchMode } from "../../protocol/knowledge-bases.ts";
import type { RetrieveBody, Retrieved } from "../../protocol/knowledge-queries.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseRow } from "../state/access.ts";
import { readQueryParams } from "../state/base-view.ts";
import type { Embedder } from "../models/embed.ts";
import { containsText } from "../../storage/contains-text.ts";
import { rank, type Ranked } from "./fuse.ts";
import type { Lexical } from "../lexical/lexical.ts";
import { ModelServerFailed } from "../models/model-server.ts";
import { readPassages, type Passage } from "./passages.ts";
import type { Reranker } from "../models/rerank.ts";
import { tokenize } from "../indexing/tokens.ts";
import type { Vectors } from "../vectors/vectors.ts";

export interface RetrieveWiring {
  readonly storage: Storage;
  readonly lexical: Lexical;
  readonly vectors: Vectors;
  readonly embedder: Embedder | undefined;
  readonly reranker: Reranker | undefined;
  readonly logger: Logger;
}

type Options = { readonly [Name in keyof RetrieveOptions]-?: NonNullable<RetrieveOptions[Name]> };
type Mode = Exclude<SearchMode, "auto">;

const DEFAULTS: Options = {
  search_mode: "auto",
  final_top_k: 10,
  recall_top_k: 50,
  similarity_threshold: 0,
  keyword_weight: 0.5,
  vector_weight: 0.5,
  use_reranker: false,
};
/** Passages that a reranker orders. */
const RERANKED = 50;
const QUERY_MS = 30_000;

/**
 * Answers a query with passages, and names what was searched. Law: answers name what was searched.
 *
 * @throws {ApiProblem} embedding_not_configured, embedding_failed
 */
export async function retrieve(wiring: RetrieveWiring, base: BaseRow, body: RetrieveBody): Promise<Retrieved> {
  const startedAt = performance.now();
  const options: Options = { ...DEFAULTS, ...defined(readQueryParams(base)), ...defined(body.options) };
  const { indexed, hasAllVectors } = await readCoverage(wiring.storage, base.id);
  const mode = chooseMode(wiring, base, options.search_mode, hasAllVectors);
  const fileIds = await selectFiles(wiring.storage, base, body);
  const warnings: string[] = indexed === 0 ? ["nothing_indexed"] : [];
  const searched = await search(wiring, base, body.query, { mode, options, fileIds, isEmpty: indexed === 0 });
  const { ranked } = searched;
  const { kept, passages, isReranked } = await choose(wiring, base, body.query, { ranked, options, warnings });
  return {
    kb_id: base.id,
    query: body.query,
    search_mode: mode,
    index: {
      lexical: mode === "vector" ? null : wiring.lexical.name,
      vector: mode === "keyword" ? null : searched.vectorIndex,
      embedding_model: mode === "keyword" ? null : base.embedding_model_spec,
      reranker: isReranked ? (wiring.reranker?.model ?? null) : null,
    },
    results: kept.flatMap((hit) => {
      const passage = passages.get(hit.chunkId);
      return passage === undefined ? [] : [show(base, passage, hit)];
    }),
    warnings,
    took_ms: Math.round(performance.now() - startedAt),
  };
}

async function readCoverage(storage: Storage, kbId: string): Promise<{ indexed: number; hasAllVectors: boolean }> {
  const { rows } = await sql<{ chunks: number; vectors: number }>`
    select coalesce(sum(chunk_count), 0)::bigint as chunks, coalesce(sum(vector_count), 0)::bigint as vectors
    from knowledge_file where kb_id = ${kbId} and chunk_count > 0`.execute(storage.db);
  const { chunks = 0, vectors = 0 } = rows[0] ?? {};
  return { indexed: chunks, hasAllVectors: chunks > 0 && vectors === chunks };
}

/** `auto` is hybrid when every passage has a vector, and keyword otherwise. @throws {ApiProblem} embedding_not_configured */
function chooseMode({ embedder }: RetrieveWiring, base: BaseRow, asked: SearchMode, hasAllVectors: boolean): Mode {
  const canEmbed = embedder !== undefined && base.embedding_model_spec !== null;
  if (asked === "auto") return canEmbed && hasAllVectors ? "hybrid" : "keyword";
  if (asked === "keyword" || canEmbed) return asked;
  throw new ApiProblem(
    "embedding_not_configured",
    base.embedding_model_spec === null
      ? "this knowledge base has no embedding model: search it with search_mode keyword"
      : "no embedding service is configured: search with search_mode keyword",
  );
}

/** The files that the caller narrows to; undefined: all. */
async function selectFiles(
  { db }: Storage,
  base: BaseRow,
  { file_ids: ids, file_name: name }: RetrieveBody,
): Promise<readonly string[] | undefined> {
  if (ids === undefined && name === undefined) return undefined;
  let query = db.selectFrom("knowledge_file").select("id").where("kb_id", "=", base.id).where("chunk_count", ">", 0);
  if (ids !== undefined) query = query.where("id", "in", ids);
  if (name !== undefined) query = query.where(containsText(sql.ref("filename"), name));
  return (await query.execute()).map(({ id }) => id);
}

async function search(
  wiring: RetrieveWiring,
  base: BaseRow,
  query: string,
  {
    mode,
    options,
    fileIds,
    isEmpty,
  }: { mode: Mode; options: Options; fileIds: readonly string[] | undefined; isEmpty: boolean },
): Promise<{ ranked: readonly Ranked[]; vectorIndex: string }> {
  const nothing = { hits: [], index: wiring.vectors.name } as const;
  if (isEmpty) return { ranked: [], vectorIndex: nothing.index };
  const recalled = mode === "hybrid" ? options.recall_top_k : 0;
  const limit = Math.max(
    options.final_top_k,
    recalled,
    options.use_reranker ? Math.max(options.recall_top_k, RERANKED) : 0,
  );
  const common = { kbNo: base.no, fileIds, limit };
  const byWords =
    mode === "vector"
      ? Promise.resolve([])
      : wiring.lexical.search(wiring.storage, { ...common, kbId: base.id, terms: tokenize(query) });
  const byVector = mode === "keyword" ? Promise.resolve(nothing) : searchVectors(wiring, base, query, common);
  const [lexical, vector] = await Promise.all([byWords, byVector]);
  const weights = { keyword: options.keyword_weight, vector: options.vector_weight };
  return { ranked: rank(mode, { lexical, vector: vector.hits }, weights), vectorIndex: vector.index };
}

async function searchVectors(
  { embedder, vectors, storage }: RetrieveWiring,
  base: BaseRow,
  query: string,
  common: { kbNo: number; fileIds: readonly string[] | undefined; limit: number },
) {
  const model = base.embedding_model_spec;
  if (embedder === undefined || model === null) throw new Error("a mode with vectors was chosen without a model");
  try {
    const { vectors: made } = await embedder.embed(model, [query], AbortSignal.timeout(QUERY_MS));
    const [vector] = made;
    if (vector === undefined) throw new ModelServerFailed("the model server gave no vector");
    return await vectors.search(storage, { ...common, model, vector });
  } catch (error) {
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    if (!(error instanceof ModelServerFailed) && !isTimeout) throw error;
    throw new ApiProblem(
      "embedding_failed",
      "the embedding service did not embed the query: search_mode keyword works",
    );
  }
}

interface Selection {
  readonly kept: readonly Ranked[];
  readonly passages: ReadonlyMap<number, Passage>;
  readonly isReranked: boolean;
}

/** What is answered. Only a reranker has to read more passages than that. */
async function choose(
  wiring: RetrieveWiring,
  base: BaseRow,
  query: string,
  { ranked, options, warnings }: { ranked: readonly Ranked[]; options: Options; warnings: string[] },
): Promise<Selection> {
  if (!options.use_reranker) {
    const kept = cut(ranked, options, { isReranked: false, warnings });
    return { kept, passages: await readPassages(wiring.storage, base.no, kept), isReranked: false };
  }
  const passages = await readPassages(
    wiring.storage,
    base.no,
    ranked.slice(0, Math.max(RERANKED, options.final_top_k)),
  );
  const reranked = await rerank(wiring, query, { ranked, passages, warnings });
  const isReranked = reranked !== undefined;
  return { kept: cut(reranked ?? ranked, options, { isReranked, warnings }), passages, isReranked };
}

/** @returns undefined when it failed: then the order stays */
async function rerank(
  { reranker, logger }: RetrieveWiring,
  query: string,
  {
    ranked,
    passages,
    warnings,
  }: { ranked: readonly Ranked[]; passages: ReadonlyMap<number, Passage>; warnings: string[] },
): Promise<readonly Ranked[] | undefined> {
  if (ranked.length === 0) return undefined;
  const candidates = ranked.slice(0, RERANKED).flatMap((hit) => {
    const passage = passages.get(hit.chunkId);
    return passage === undefined ? [] : [{ hit, text: passage.content }];
  });
  try {
    if (reranker === undefined) throw new ModelServerFailed("no reranker is configured");
    const texts = candidates.map(({ text }) => text);
    const scores = await reranker.rerank(query, texts, AbortSignal.timeout(QUERY_MS));
    return candidates
      .flatMap(({ hit }, index) => {
        const score = scores[index];
        return score === undefined ? [] : [{ ...hit, score, scores: { ...hit.scores, rerank: score } }];
      })
      .toSorted((left, right) => right.score - left.score);
  } catch (error) {
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    if (!(error instanceof ModelServerFailed) && !isTimeout) throw error;
    logger.warn({ err: error }, "passages were not reranked");
    warnings.push("rerank_failed");
    return undefined;
  }
}

/** By the reranker's score where there is one, otherwise by cosine; scores of words have no scale to cut by. */
function cut(
  ranked: readonly Ranked[],
  options: Options,
  { isReranked, warnings }: { isReranked: boolean; warnings: string[] },
): readonly Ranked[] {
  const threshold = options.similarity_threshold;
  if (threshold === 0) return ranked.slice(0, options.final_top_k);
  const hasCosine = ranked.some(({ scores }) => scores.cosine !== undefined);
  if (!isReranked && !hasCosine && ranked.length > 0) {
    warnings.push("similarity_threshold_ignored");
    return ranked.slice(0, options.final_top_k);
  }
  return ranked
    .filter(({ scores }) => ((isReranked ? scores.rerank : scores.cosine) ?? -Infinity) >= threshold)
    .slice(0, options.final_top_k);
}

function show(base: BaseRow, passage: Passage, { score, scores }: Ranked): Retrieved["results"][number] {
  return {
    id: `chunk_${passage.id}`,
    kb_id: base.id,
    file_id: passage.file_id,
    content: passage.content,
    score,
    metadata: {
      source: passage.filename,
      source_path: passage.source_path,
      source_url: passage.source_url,
      file_type: passage.file_type,
      chunk_index: passage.chunk_index,
      heading: passage.heading,
      start_line: passage.start_line,
      end_line: passage.end_line,
      page: passage.page,
      scores,
    },
  };
}
