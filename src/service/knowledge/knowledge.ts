import type { Logger } from "pino";
import type { Caller } from "../auth/caller.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { Objects } from "../storage/objects.ts";
import type { Storage } from "../storage/storage.ts";
import type { AnyTaskKind } from "../tasks/define-task.ts";
import { type BaseRow, listManagedIds, openBase } from "./state/access.ts";
import { createBases } from "./bases/bases.ts";
import { createConnectors } from "./connectors/connectors.ts";
import type { Credentials } from "./connectors/credentials.ts";
import { deleteFiles } from "./work/delete-files.ts";
import { createDocuments } from "./uploads/documents.ts";
import type { Embedder } from "./models/embed.ts";
import { listFiles, listReadable } from "./bases/external.ts";
import { describeTypes, takenTypes } from "./uploads/file-types.ts";
import { createUrlFetcher, type FetchRules } from "./uploads/fetch-url.ts";
import { createFiles } from "./files/files.ts";
import { createFinder } from "./files/find.ts";
import { bm25 } from "./lexical/bm25.ts";
import { gin } from "./lexical/gin.ts";
import { createWordTidier } from "./lexical/tidy-words.ts";
import { openFile } from "./files/open.ts";
import type { Parser } from "./parse/parser.ts";
import { createWorkQueue } from "./work/queue-work.ts";
import type { Reranker } from "./models/rerank.ts";
import { retrieve } from "./query/retrieve.ts";
import { warnOfScale } from "./scale.ts";
import { sweepKnowledge } from "./sweep.ts";
import { createKnowledgeTasks } from "./work/tasks.ts";
import { createUploads } from "./uploads/uploads.ts";
import { createExactVectors } from "./vectors/exact.ts";
import { createPgvector } from "./vectors/pgvector.ts";
import type { OnKnowledgeStep } from "./state/steps.ts";
import { sql } from "kysely";
import type { Queries } from "../storage/transaction.ts";

export interface KnowledgeOptions {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly parser: Parser;
  readonly embedder: Embedder | undefined;
  readonly reranker: Reranker | undefined;
  readonly logger: Logger;
  readonly limits: KnowledgeLimits;
  /** Asks addresses that users give. */
  readonly outbound: Outbound;
  readonly fetchRules: FetchRules;
  /** By name: what connectors are reached with. */
  readonly credentials: Credentials;
  /** Longest answer of a connector. */
  readonly connectorMs: number;
  readonly onStep?: OnKnowledgeStep | undefined;
  /** Vectors of a knowledge base from which on it gets an approximate index; absent: as the engine needs it. */
  readonly approximateFrom?: number | undefined;
}

/** Below that pgvector compares all in a few milliseconds. */
const APPROXIMATE_FROM = 20_000;

/** Source: the settings `SERVICE_KB_*`. */
export interface KnowledgeLimits {
  readonly maxFileBytes: number;
  /** Extensions that are taken; empty: all that are known. */
  readonly types: readonly string[];
  readonly filesAtOnce: number;
  readonly outputBytes: number;
  readonly leaseMs: number;
  readonly maxIds: number;
  readonly maxChunks: number;
  readonly uploadsAtOnce: number;
  readonly uploadsOfUser: number;
  readonly searchesOfUser: number;
}

/** The engines that answer, for readiness and `/api/system/info`; null is what there is none of. */
export interface KnowledgeEngines {
  readonly lexical: string;
  readonly vectors: string;
  readonly ocr: string | null;
  readonly converter: string | null;
  readonly embedding: string | null;
  readonly rerank: string | null;
}

/** Documents in, Markdown and an index out, queries over both. */
export type Knowledge = Awaited<ReturnType<typeof createKnowledge>>;

/** Wires the room. */
export async function createKnowledge(options: KnowledgeOptions) {
  const { storage, objects, parser, embedder, reranker, logger, limits, outbound } = options;
  const features = await readFeatures(storage.db);
  // PGlite took minutes to build the index and then 18 ms for each new vector: it compares all.
  const approximateFrom = options.approximateFrom ?? (storage.engine === "pglite" ? undefined : APPROXIMATE_FROM);
  const lexical = features.hasTextSearch ? bm25 : gin;
  const vectors = features.hasVector ? createPgvector(approximateFrom) : createExactVectors();
  const types = takenTypes(parser.supportedTypes(), limits.types);
  const connectors = createConnectors({
    outbound,
    logger,
    credentials: options.credentials,
    answerMs: options.connectorMs,
  });
  // PostgreSQL has a daemon of its own that vacuums.
  const tidyWords =
    features.hasTextSearch && storage.engine === "pglite" ? createWordTidier(storage, logger) : undefined;
  const finder = createFinder({ storage, objects, mostOfOne: limits.searchesOfUser });
  const wiring = { storage, objects, parser, lexical, vectors, embedder, reranker, logger };

  return {
    /** Finds a knowledge base for a caller. @throws {ApiProblem} as `openBase` */
    open: (caller: Caller, kbId: string, rule: Parameters<typeof openBase>[3]): Promise<BaseRow> =>
      openBase(storage.db, caller, kbId, rule),
    managedIds: (caller: Caller): Promise<string[]> => listManagedIds(storage.db, caller),
    bases: createBases({
      storage,
      lexical,
      engines: { lexical: lexical.name, vector: vectors.name },
      embeddingModels: embedder?.models ?? [],
      checkConnector: connectors.check,
    }),
    uploads: createUploads({
      storage,
      objects,
      logger,
      types,
      maxFileBytes: limits.maxFileBytes,
      mostAtOnce: limits.uploadsAtOnce,
      mostOfOne: limits.uploadsOfUser,
      onStep: options.onStep,
    }),
    ...createUrlFetcher({ storage, objects, outbound, rules: options.fetchRules, types, logger }),
    files: createFiles({ storage, objects }),
    documents: createDocuments(storage, options.onStep),
    work: createWorkQueue(storage, limits.maxIds),
    maxIds: limits.maxIds,
    deleteFiles: (base: BaseRow, caller: Caller, ids: readonly string[]): Promise<string[]> =>
      deleteFiles({ storage, objects, logger, onStep: options.onStep }, base, caller, ids),
    supportedTypes: () => describeTypes(types),
    listReadable: (caller: Caller, filter: Parameters<typeof listReadable>[2]) => listReadable(storage, caller, filter),
    listFiles: (base: BaseRow, filter: Parameters<typeof listFiles>[2]) => listFiles(storage, base, filter),
    retrieve: (base: BaseRow, body: Parameters<typeof retrieve>[2]) =>
      base.kb_type === "local" ? retrieve(wiring, base, body) : connectors.retrieve(base, body),
    openFile: (base: BaseRow, fileId: string, query: Parameters<typeof openFile>[3]) =>
      openFile({ storage, objects }, base, fileId, query),
    find: finder.find,
    /** The handlers of its tasks, for a worker. */
    taskKinds: (): readonly AnyTaskKind[] => createKnowledgeTasks({ ...wiring, ...limits, onStep: options.onStep }),
    sweep: () => sweepKnowledge({ storage, objects, logger, tidyWords }),
    engines(): KnowledgeEngines {
      const { ocr, converter } = parser.engines();
      return {
        lexical: lexical.name,
        vectors: vectors.name,
        ocr: ocr === null ? null : "tesseract",
        converter: converter === null ? null : "soffice",
        embedding: embedder?.models[0] ?? null,
        rerank: reranker?.model ?? null,
      };
    },
    warnOfScale: (): Promise<string | undefined> => warnOfScale(storage),
    /** Ends threads and parser children. Safe to call twice. */
    async close(): Promise<void> {
      await finder.close();
      await parser.close();
    },
  };
}

/** What the database can do beyond plain PostgreSQL. */
interface DatabaseFeatures {
  /** pgvector: vectors are `halfvec`; otherwise bytes. */
  readonly hasVector: boolean;
  /** pg_textsearch: BM25 as an index. */
  readonly hasTextSearch: boolean;
}

/** Asks what the migration could take. The type of `knowledge_vector.embedding` decides for vectors: it does not change later. */
async function readFeatures(db: Queries): Promise<DatabaseFeatures> {
  const { rows } = await sql<{ vector: boolean; text_search: boolean }>`
    select exists (
        select from information_schema.columns
        where table_name = 'knowledge_vector' and column_name = 'embedding' and udt_name = 'halfvec'
      ) as vector,
      exists (select from pg_extension where extname = 'pg_textsearch') as text_search`.execute(db);
  return { hasVector: rows[0]?.vector === true, hasTextSearch: rows[0]?.text_search === true };
}
