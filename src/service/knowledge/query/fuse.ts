import { defined } from "../../../kit/defined.ts";
import type { SearchMode } from "../../protocol/knowledge-bases.ts";
import type { LexicalHit } from "../lexical/lexical.ts";
import type { VectorHit } from "../vectors/vector-query.ts";

/** A passage with every score it was given, and the one that ordered. */
export interface Ranked {
  readonly chunkId: number;
  readonly score: number;
  readonly scores: {
    readonly bm25?: number;
    readonly cosine?: number;
    readonly rrf?: number;
    readonly rerank?: number;
  };
}

/** The usual constant of reciprocal rank fusion. */
const RRF_K = 60;

/** Orders the hits of one engine, or fuses those of both by their ranks: their scores are on no common scale. */
export function rank(
  mode: Exclude<SearchMode, "auto">,
  hits: { readonly lexical: readonly LexicalHit[]; readonly vector: readonly VectorHit[] },
  weights: { readonly keyword: number; readonly vector: number },
): readonly Ranked[] {
  const bm25 = new Map(hits.lexical.map(({ chunkId, score }) => [chunkId, score]));
  const cosine = new Map(hits.vector.map(({ chunkId, cosine: value }) => [chunkId, value]));
  const scoresOf = (chunkId: number) => {
    const [words, angle] = [bm25.get(chunkId), cosine.get(chunkId)];
    return defined({ bm25: words, cosine: angle });
  };
  if (mode !== "hybrid") {
    const own = mode === "keyword" ? bm25 : cosine;
    return [...own].map(([chunkId, score]) => ({ chunkId, score, scores: scoresOf(chunkId) }));
  }
  const fused = new Map<number, number>();
  const add = (ids: Iterable<number>, weight: number): void => {
    let position = 0;
    for (const id of ids) {
      position += 1;
      fused.set(id, (fused.get(id) ?? 0) + weight / (RRF_K + position));
    }
  };
  add(bm25.keys(), weights.keyword);
  add(cosine.keys(), weights.vector);
  return [...fused]
    .map(([chunkId, rrf]) => ({ chunkId, score: rrf, scores: { ...scoresOf(chunkId), rrf } }))
    .toSorted((left, right) => right.score - left.score || left.chunkId - right.chunkId);
}
