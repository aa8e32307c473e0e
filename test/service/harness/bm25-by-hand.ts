/** A text as its tokens. */
export type Tokens = readonly string[];

/** The length of a text that a formula counts with. */
export type LengthOf = (text: Tokens) => number;

export const exactLength: LengthOf = (text) => text.length;

/** As Lucene and pg_textsearch keep it: one byte, exact up to 40, then the next lower number of three binary digits and a one. */
export const byteLength: LengthOf = (text) => {
  const exact = 24;
  if (text.length < exact) return text.length;
  const rest = text.length - exact;
  const step = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, rest))) - 3);
  return exact + Math.floor(rest / step) * step;
};

/** BM25 in full, by the formula alone: k1 1.2, b 0.75, Lucene's idf; each repetition in the query counts. */
export function createReference(texts: readonly Tokens[], lengthOf: LengthOf): (query: Tokens) => number[] {
  const [k1, b] = [1.2, 0.75];
  const meanLength = texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
  const lengths = texts.map(lengthOf);
  const postings = new Map<string, Map<number, number>>();
  for (const [index, text] of texts.entries())
    for (const term of text) {
      const posting = postings.get(term) ?? new Map<number, number>();
      postings.set(term, posting.set(index, (posting.get(index) ?? 0) + 1));
    }
  return (query) => {
    const scores = texts.map(() => 0);
    for (const term of query) {
      const posting = postings.get(term) ?? new Map<number, number>();
      const idf = Math.log(1 + (texts.length - posting.size + 0.5) / (posting.size + 0.5));
      for (const [index, count] of posting) {
        const norm = k1 * (1 - b + (b * (lengths[index] ?? 0)) / meanLength);
        scores[index] = (scores[index] ?? 0) + (idf * count * (k1 + 1)) / (count + norm);
      }
    }
    return scores;
  };
}
