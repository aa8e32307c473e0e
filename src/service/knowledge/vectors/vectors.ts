import type { Storage } from "../../storage/storage.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { VectorSpace } from "./vector-query.ts";
import type { VectorHit, VectorQuery } from "./vector-query.ts";

/** The vector of one chunk. */
export interface ChunkVector {
  readonly chunkId: number;
  readonly vector: Float32Array;
}

/** What was found, and by what: answers name it. */
export interface VectorAnswer {
  /** Nearest first. */
  readonly hits: readonly VectorHit[];
  readonly index: "pgvector" | "pgvector-hnsw" | "exact";
}

/** An index that finds almost all of the nearest without comparing all. */
export interface ApproximateIndex {
  /** Vectors of a knowledge base from which on it is made. */
  readonly from: number;
  /** Whether one of these could be, and there is none yet. */
  isMissing(db: Queries, space: VectorSpace): Promise<boolean>;
  /** Makes it; files can be indexed meanwhile. Safe to repeat. @throws the signal's reason */
  make(storage: Storage, space: VectorSpace, signal: AbortSignal): Promise<void>;
}

/** Stores and compares vectors; only those of live generations answer. */
export interface Vectors {
  /** As answers name it. */
  readonly name: "pgvector" | "exact";
  /** Most chunks with vectors that a knowledge base may have here; undefined: no bound of this engine's. */
  readonly mostChunks: number | undefined;
  write(trx: Transaction, kbNo: number, model: string, vectors: readonly ChunkVector[]): Promise<void>;
  /** Absent: every comparison is exact. */
  readonly approximate?: ApproximateIndex | undefined;
  search(storage: Storage, query: VectorQuery): Promise<VectorAnswer>;
}
