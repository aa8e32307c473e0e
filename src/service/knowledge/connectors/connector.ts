import type { SearchMode } from "../../protocol/knowledge-bases.ts";

/** A question for a system that keeps the content itself. */
export interface ConnectorQuery {
  readonly query: string;
  readonly mode: SearchMode;
  readonly topK: number;
  readonly threshold: number;
}

/** A passage as the other system gave it. */
export interface ConnectorHit {
  readonly id: string;
  readonly fileId: string;
  readonly source: string;
  readonly sourceUrl: string | null;
  readonly content: string;
  readonly heading: string;
  readonly chunkIndex: number | null;
  /** What ordered. */
  readonly score: number;
  readonly scores: { readonly bm25?: number; readonly remote?: number };
}

export interface ConnectorAnswer {
  /** The mode that answered. */
  readonly mode: Exclude<SearchMode, "auto">;
  /** Best first. */
  readonly hits: readonly ConnectorHit[];
  /** What searched; null is what took no part. */
  readonly index: { readonly lexical: string | null; readonly vector: string | null };
  /** `partial`: something that should have been looked at was not; `query_cut`: the question was too long. */
  readonly warnings: readonly ("partial" | "query_cut")[];
}

/** Retrieval from elsewhere, and nothing but retrieval. */
export interface Connector {
  /** @throws {ApiProblem} connector_*, embedding_not_configured */
  retrieve(query: ConnectorQuery, signal: AbortSignal): Promise<ConnectorAnswer>;
}
