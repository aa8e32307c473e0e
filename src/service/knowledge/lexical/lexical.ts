import type { RawBuilder } from "kysely";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";

/** A question to the words of one knowledge base. */
export interface LexicalQuery {
  readonly kbNo: number;
  readonly kbId: string;
  /** As `tokenize` makes them, repeats included. */
  readonly terms: readonly string[];
  readonly limit: number;
  /** Only chunks of these files; absent: of all. */
  readonly fileIds?: readonly string[] | undefined;
}

/** A chunk that has at least one of the terms. */
export interface LexicalHit {
  readonly chunkId: number;
  /** BM25; larger is better. */
  readonly score: number;
}

/** Ranks the chunks of a knowledge base by BM25 over their tokens; only those of live generations. */
export interface Lexical {
  /** As answers name it. */
  readonly name: "bm25" | "bm25-gin";
  /** Makes what it needs on a new, empty partition. */
  createIndex(trx: Transaction, kbNo: number): Promise<void>;
  /** What the column `terms` of a chunk holds, given the SQL of its tokens. */
  readonly terms: (tokens: RawBuilder<string>) => RawBuilder<unknown>;
  /** Best first. */
  search(storage: Storage, query: LexicalQuery): Promise<readonly LexicalHit[]>;
}

/** The usual values of BM25, untuned. */
export const K1 = 1.2;
export const B = 0.75;

/** Lucene's inverse document frequency: never negative. */
export function inverseFrequency(documents: number, containing: number): number {
  return Math.log(1 + (documents - containing + 0.5) / (containing + 0.5));
}
