import { z } from "zod";
import type { SearchMode } from "../../protocol/knowledge-bases.ts";
import type { Connector, ConnectorAnswer } from "./connector.ts";
import type { Remote } from "./remote.ts";

/** Where in the hosted LLM-app platform the content is. */
export const DifyPlace = z.strictObject({
  credential: z.string().min(1).max(64),
  dataset_id: z.string().regex(/^[\w-]{1,64}$/),
});

/** What is read of an answer. Source: Dify's API, "Retrieve chunks from a knowledge base". */
const Answer = z.object({
  records: z
    .array(
      z.object({
        segment: z.object({
          id: z.string(),
          content: z.string(),
          position: z.int().nullish(),
          document: z.object({ id: z.string(), name: z.string() }),
        }),
        score: z.number().nullish(),
      }),
    )
    .max(1_000),
});

/** Longer questions are refused there. */
const MAX_QUERY = 250;

type Mode = Exclude<SearchMode, "auto">;

const METHODS: Readonly<Record<Mode, string>> = {
  keyword: "full_text_search",
  vector: "semantic_search",
  hybrid: "hybrid_search",
};

/** Retrieval from a dataset of the platform. */
export function createDify(remote: Remote, place: z.infer<typeof DifyPlace>): Connector {
  return {
    async retrieve({ query, mode: asked, topK, threshold }, signal): Promise<ConnectorAnswer> {
      const mode = asked === "auto" ? "hybrid" : asked;
      const question = query.slice(0, MAX_QUERY).toWellFormed();
      const { records } = await remote.ask(
        {
          method: "POST",
          path: `/datasets/${place.dataset_id}/retrieve`,
          body: {
            query: question,
            retrieval_model: {
              search_method: METHODS[mode],
              reranking_enable: false,
              top_k: topK,
              score_threshold_enabled: threshold > 0,
              score_threshold: threshold,
            },
          },
          shape: Answer,
        },
        signal,
      );
      return {
        mode,
        index: { lexical: mode === "vector" ? null : "dify", vector: mode === "keyword" ? null : "dify" },
        warnings: question === query ? [] : ["query_cut"],
        hits: records.slice(0, topK).map(({ segment, score }) => ({
          id: segment.id,
          fileId: segment.document.id,
          source: segment.document.name,
          sourceUrl: null,
          content: segment.content,
          heading: "",
          chunkIndex: segment.position ?? null,
          score: score ?? 0,
          scores: typeof score === "number" ? { remote: score } : {},
        })),
      };
    },
  };
}
