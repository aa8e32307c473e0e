import { z } from "zod";
import { ApiProblem } from "../../protocol/problems.ts";
import { chunkMarkdown, DEFAULT_CHUNKING } from "../indexing/chunk.ts";
import { tokenize } from "../indexing/tokens.ts";
import type { Connector, ConnectorAnswer, ConnectorHit } from "./connector.ts";
import { readPageMarkdown } from "./notion-blocks.ts";
import { createAncestry, Parent } from "./notion-ancestry.ts";
import { NOTION_HEADERS } from "./notion-headers.ts";
import type { Remote } from "./remote.ts";
import { B, inverseFrequency, K1 } from "../lexical/lexical.ts";

/** Where in the notes workspace the content is; without pages: all that the key may see. */
export const NotionPlace = z.strictObject({
  credential: z.string().min(1).max(64),
  root_page_ids: z.array(z.uuid()).min(1).max(50).optional(),
});

/** What is read of an answer. Source: Notion's API 2022-06-28, "Search by title". */
const Page = z.object({
  id: z.string(),
  url: z.string(),
  parent: Parent,
  properties: z.record(
    z.string(),
    z.object({ type: z.string().optional(), title: z.array(z.object({ plain_text: z.string() })).optional() }),
  ),
});
type Page = z.infer<typeof Page>;
const Found = z.object({ results: z.array(z.unknown()) });

const PAGES = 10;

/** Retrieval from the workspace: its search finds pages by their titles, BM25 here finds the passages in them. */
export function createNotion(remote: Remote, place: z.infer<typeof NotionPlace>): Connector {
  async function search(query: string, signal: AbortSignal): Promise<Page[]> {
    const body = { query, filter: { property: "object", value: "page" }, page_size: 20 };
    const question = { method: "POST" as const, path: "/v1/search", headers: NOTION_HEADERS, body, shape: Found };
    const { results } = await remote.ask(question, signal);
    // Pages that the key may see only in part have other fields; they cannot be read either.
    return results.flatMap((result) => {
      const page = Page.safeParse(result);
      return page.success ? [page.data] : [];
    });
  }

  return {
    async retrieve({ query, mode, topK }, signal): Promise<ConnectorAnswer> {
      if (mode === "vector" || mode === "hybrid")
        throw new ApiProblem("embedding_not_configured", "a notes workspace is searched with search_mode keyword");
      const found = await search(query, signal);
      const ancestry = createAncestry(remote, place.root_page_ids, signal);
      const inside = await settleAll(found, async (page) => ((await ancestry.isInside(page)) ? [page] : []));
      const pages = inside.values.flat().slice(0, PAGES);
      const read = await settleAll(pages, async (page) => ({
        page,
        ...(await readPageMarkdown(remote, page.id, signal)),
      }));
      const passages = read.values.flatMap(({ page, markdown }) =>
        [...chunkMarkdown(markdown, DEFAULT_CHUNKING)].map((chunk, index) => ({
          page,
          chunk,
          index,
          tokens: chunk.tokens,
        })),
      );
      const hits = scorePassages(tokenize(query), passages)
        .slice(0, topK)
        .map(({ passage, score }): ConnectorHit => {
          const { page, chunk, index } = passage;
          return {
            id: `${page.id}#${index}`,
            fileId: page.id,
            source: titleOf(page),
            sourceUrl: page.url,
            content: chunk.content,
            heading: chunk.heading,
            chunkIndex: index,
            score,
            scores: { bm25: score },
          };
        });
      const isPartial = inside.hasFailed || read.hasFailed || read.values.some(({ isCut }) => isCut);
      return {
        mode: "keyword",
        index: { lexical: "notion+bm25", vector: null },
        hits,
        warnings: isPartial ? ["partial"] : [],
      };
    },
  };
}

function titleOf({ properties }: Page): string {
  const title = Object.values(properties).find(({ title: parts }) => parts !== undefined)?.title ?? [];
  return title.map(({ plain_text: text }) => text).join("") || "untitled";
}

/** The result of each; some failures make it partial, and if all fail the first is thrown. */
async function settleAll<Item, Value>(
  items: readonly Item[],
  visit: (item: Item) => Promise<Value>,
): Promise<{ values: Value[]; hasFailed: boolean }> {
  const settled = await Promise.allSettled(items.map(visit));
  const values = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failure = settled.find((one) => one.status === "rejected");
  const isOurs = failure !== undefined && !(failure.reason instanceof ApiProblem);
  if (failure !== undefined && (isOurs || values.length === 0)) throw failure.reason;
  return { values, hasFailed: failure !== undefined };
}

/** BM25 over passages that are at hand, best first; what has none of the words is left out. */
function scorePassages<Passage extends { readonly tokens: string }>(
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
