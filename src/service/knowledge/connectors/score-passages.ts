import { B, inverseFrequency, K1 } from "../lexical/lexical.ts";

/** BM25 over passages that are at hand, best first; what has none of the words is left out. */
export function scorePassages<Passage extends { readonly tokens: string }>(
  query: readonly string[],
  passages: readonly Passage[],
): { passage: Passage; score: number }[] {
  const counted = passages.map((passage) => ({ passage, ...countTokens(passage.tokens) }));
  const mean = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const words = [...new Set(query)].map((word) => {
    const containing = counted.filter(({ counts }) => counts.has(word)).length;
    return { word, weight: containing === 0 ? 0 : inverseFrequency(passages.length, containing) };
  });
  return counted
    .map(({ passage, counts, length }) => {
      const norm = K1 * (1 - B + (B * length) / Math.max(1, mean));
      const score = words.reduce((sum, { word, weight }) => {
        const count = counts.get(word) ?? 0;
        return sum + (weight * count * (K1 + 1)) / (count + norm);
      }, 0);
      return { passage, score };
    })
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score);
}

function countTokens(tokens: string): { counts: ReadonlyMap<string, number>; length: number } {
  const words = tokens.split(" ").filter(Boolean);
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}
