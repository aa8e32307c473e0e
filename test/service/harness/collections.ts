import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "./random.ts";

/** A collection with its judgements. */
export interface Collection {
  readonly documents: readonly { readonly id: string; readonly text: string }[];
  readonly queries: readonly {
    readonly text: string;
    /** Gain of each relevant document. */
    readonly gains: ReadonlyMap<string, number>;
  }[];
}

/** Where the collections are: public, large, and no part of the repository. */
export function findCollections(): string | undefined {
  return process.env["SVC_COLLECTIONS"];
}

/** Cranfield 1400: the grade codes 1 (complete answer) to 4 give 4 to 1; -1 and 5 give nothing. */
export function readCranfield(directory: string): Collection {
  const read = (name: string): string => readFileSync(join(directory, name), "latin1");
  const documents = read("cran.all.1400")
    .split(/^\.I /m)
    .slice(1)
    .map((entry) => ({ id: entry.slice(0, entry.indexOf("\n")).trim(), text: entry.split(/^\.W$/m)[1]?.trim() ?? "" }));
  const gains = new Map<number, Map<string, number>>();
  for (const line of read("cranqrel").split("\n")) {
    const [query = "", document = "", code = ""] = line.trim().split(/\s+/);
    const gain = 5 - Number(code);
    if (document === "" || gain < 1 || gain > 4) continue;
    gains.set(Number(query), (gains.get(Number(query)) ?? new Map<string, number>()).set(document, gain));
  }
  const queries = read("cran.qry")
    .split(/^\.I \d+$/m)
    .slice(1)
    .map((entry, index) => ({
      text: (entry.split(/^\.W$/m)[1] ?? "").trim().replaceAll("\n", " "),
      gains: gains.get(index + 1) ?? new Map<string, number>(),
    }));
  return { documents, queries };
}

/** CMRC 2018: one passage answers each question. */
export function readCmrc(directory: string): Collection {
  const { docs, queries } = JSON.parse(readFileSync(join(directory, "cmrc2018-dev.json"), "utf8"));
  return {
    documents: docs,
    queries: queries.map(({ text, doc }: { text: string; doc: string }) => ({ text, gains: new Map([[doc, 1]]) })),
  };
}

/** What was found for a query, best first, and what would have been right. */
export interface Judged {
  readonly found: readonly string[];
  readonly gains: ReadonlyMap<string, number>;
}

const SAMPLES = 2_000;

/** 95 % interval of the difference of two answers to the same queries in nDCG@10: bootstrap over the queries, in pairs. */
export function differenceInterval(ours: readonly Judged[], others: readonly Judged[]): [low: number, high: number] {
  const differences = ours.map((answer, index) => {
    const other = others[index];
    return measure([answer]).ndcg - (other === undefined ? 0 : measure([other]).ndcg);
  });
  const random = createRandom(1);
  const means = Array.from({ length: SAMPLES }, () => {
    let sum = 0;
    for (let drawn = 0; drawn < differences.length; drawn += 1)
      sum += differences[random.below(differences.length)] ?? 0;
    return sum / differences.length;
  }).toSorted((left, right) => left - right);
  return [means[Math.floor(SAMPLES * 0.025)] ?? 0, means[Math.floor(SAMPLES * 0.975)] ?? 0];
}

/** nDCG@10 with linear gains, and recall@10 over all that is relevant; means over all queries. */
export function measure(answers: readonly Judged[]): { ndcg: number; recall: number } {
  let [ndcg, recall] = [0, 0];
  const discounted = (gains: readonly number[]): number =>
    gains.reduce((sum, gain, index) => sum + gain / Math.log2(index + 2), 0);
  for (const { found, gains } of answers) {
    const top = [...new Set(found)].slice(0, 10);
    const ideal = discounted([...gains.values()].toSorted((left, right) => right - left).slice(0, 10));
    ndcg += ideal === 0 ? 0 : discounted(top.map((id) => gains.get(id) ?? 0)) / ideal;
    recall += gains.size === 0 ? 0 : top.filter((id) => gains.has(id)).length / gains.size;
  }
  return { ndcg: ndcg / answers.length, recall: recall / answers.length };
}
