import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";

/** The vector of one chunk. */
export interface ChunkVector {
  readonly chunkId: number;
  readonly vector: Float32Array;
}

/** A question to the vectors of one knowledge base. */
export interface VectorQuery {
  readonly kbNo: number;
  readonly model: string;
  readonly vector: Float32Array;
  readonly limit: number;
  /** Only chunks of these files; absent: of all. */
  readonly fileIds?: readonly string[] | undefined;
}

/** A chunk, by how near its vector is. */
export interface VectorHit {
  readonly chunkId: number;
  /** -1 to 1; larger is nearer. */
  readonly cosine: number;
}

/** Stores and compares vectors, exactly; only those of live generations answer. */
export interface Vectors {
  /** As answers name it. */
  readonly name: "pgvector" | "exact";
  /** Most chunks with vectors that a knowledge base may have here; undefined: no bound of this engine's. */
  readonly mostChunks: number | undefined;
  write(trx: Transaction, kbNo: number, model: string, vectors: readonly ChunkVector[]): Promise<void>;
  /** Nearest first. */
  search(storage: Storage, query: VectorQuery): Promise<readonly VectorHit[]>;
}
