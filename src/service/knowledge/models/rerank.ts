import { z } from "zod";
import { askModelServer, ModelServerFailed, type ModelServer } from "./model-server.ts";

/** Orders passages by how well they answer a query, by a server of the operator's. */
export interface Reranker {
  readonly model: string;
  /** @returns the score of each document, in their order; undefined for one the server left out. @throws {ModelServerFailed} */
  rerank(query: string, documents: readonly string[], signal: AbortSignal): Promise<readonly (number | undefined)[]>;
}

/** A query waits for it: one try more, and no long one. */
const TRIES = 2;

const Answer = z.looseObject({
  results: z.array(z.looseObject({ index: z.int().min(0), relevance_score: z.number() })),
});

export function createReranker(server: ModelServer & { readonly model: string }): Reranker {
  return {
    model: server.model,
    async rerank(query, documents, signal) {
      const body = { model: server.model, query, documents, top_n: documents.length };
      const { results } = await askModelServer(server, "/rerank", body, { schema: Answer, tries: TRIES, signal });
      const scores = Array.from<number | undefined>({ length: documents.length });
      for (const { index, relevance_score } of results) {
        if (index >= documents.length) throw new ModelServerFailed("the reranker named a document that was not sent");
        scores[index] = relevance_score;
      }
      return scores;
    },
  };
}
