import { z } from "zod";
import { ShareConfig } from "./auth.ts";
import { Page, Time, Uuid } from "./common.ts";

/** `local` holds files of ours; the others only answer queries. */
export const KbType = z.enum(["local", "dify", "notion"]).meta({ id: "KbType" });
export type KbType = z.infer<typeof KbType>;

export const SearchMode = z.enum(["auto", "keyword", "vector", "hybrid"]).meta({ id: "SearchMode" });
export type SearchMode = z.infer<typeof SearchMode>;

const Weight = z.number().min(0).max(1);

/** How a query is answered. What is absent is the knowledge base's `query_params`, then the default. */
export const RetrieveOptions = z
  .strictObject({
    search_mode: SearchMode,
    final_top_k: z.int().min(1).max(100),
    recall_top_k: z.int().min(1).max(500),
    similarity_threshold: Weight,
    keyword_weight: Weight,
    vector_weight: Weight,
    use_reranker: z.boolean(),
  })
  .partial()
  .meta({ id: "RetrieveOptions" });
export type RetrieveOptions = z.infer<typeof RetrieveOptions>;

/** Sizes of chunks in estimated tokens. A change needs indexing again. */
export const Chunking = z
  .strictObject({
    target_tokens: z.int().min(100).max(2_000),
    max_tokens: z.int().min(100).max(4_000),
    overlap_tokens: z.int().min(0).max(500),
  })
  .partial()
  .refine(({ target_tokens: target = 400, max_tokens: max = Math.max(512, target) }) => target <= max, {
    message: "max_tokens must be at least target_tokens",
    path: ["max_tokens"],
  })
  .refine(
    ({ target_tokens: target = 400, overlap_tokens: overlap = Math.min(50, target / 2) }) => overlap <= target / 2,
    {
      message: "overlap_tokens must be at most half of target_tokens",
      path: ["overlap_tokens"],
    },
  )
  .meta({ id: "Chunking" });
export type Chunking = z.infer<typeof Chunking>;

const fields = {
  name: z.string().trim().min(1).max(200),
  description: z.string().max(2_000),
  share_config: ShareConfig,
  embedding_model_spec: z.string().min(1).max(200).nullable(),
  chunking: Chunking,
  query_params: RetrieveOptions,
  connector: z.record(z.string().max(64), z.unknown()),
};

const Counts = z
  .strictObject({
    uploaded: z.int(),
    parsing: z.int(),
    parsed: z.int(),
    error_parsing: z.int(),
    indexing: z.int(),
    indexed: z.int(),
    error_indexing: z.int(),
    total: z.int(),
    chunks: z.int(),
    pending_parse: z.int(),
    pending_index: z.int(),
  })
  .meta({ id: "KnowledgeCounts", description: "Files by state; chunks that can be found." });
export type KnowledgeCounts = z.infer<typeof Counts>;
export { Counts as KnowledgeCounts };

export const KnowledgeBase = z
  .strictObject({
    kb_id: z.string(),
    kb_type: KbType,
    ...fields,
    name: z.string(),
    supports_documents: z.boolean(),
    embedding_dims: z.int().nullable(),
    created_by: z.int(),
    created_at: Time,
    updated_at: Time,
    revision: z.int(),
    can_manage: z.boolean(),
    counts: Counts,
    index: z
      .strictObject({ lexical: z.string(), vector: z.string().nullable() })
      .meta({ description: "The engines that answer queries; `vector` is null without an embedding model." }),
  })
  .meta({ id: "KnowledgeBase" });
export type KnowledgeBase = z.infer<typeof KnowledgeBase>;

const optional = z.strictObject(fields).partial().shape;

/** `database_name` is another word for `name`. */
export const CreateKnowledgeBaseBody = z
  .strictObject({ ...optional, database_name: fields.name.optional(), kb_type: KbType.default("local") })
  .refine(({ name, database_name }) => name !== undefined || database_name !== undefined, {
    message: "name is required",
    path: ["name"],
  })
  .refine(({ name, database_name }) => name === undefined || database_name === undefined || name === database_name, {
    message: "name and database_name are one field and differ here",
    path: ["database_name"],
  })
  .meta({ id: "CreateKnowledgeBaseBody" });
export type CreateKnowledgeBaseBody = z.infer<typeof CreateKnowledgeBaseBody>;

export const UpdateKnowledgeBaseBody = z
  .strictObject({
    ...optional,
    database_name: fields.name.optional(),
    revision: z.int().min(1).meta({ description: "The revision that was read; another one is refused." }),
    reindex: z.boolean().default(false).meta({
      description:
        "Allows another `embedding_model_spec` on a knowledge base with vectors: its files are indexed again.",
    }),
  })
  .meta({ id: "UpdateKnowledgeBaseBody" });
export type UpdateKnowledgeBaseBody = z.infer<typeof UpdateKnowledgeBaseBody>;

export const KbPath = z.strictObject({ kb_id: z.string().min(1).max(64) });
export const KbListQuery = z.strictObject(Page);
export const KnowledgeBaseList = z
  .strictObject({ databases: z.array(KnowledgeBase), total: z.int() })
  .meta({ id: "KnowledgeBaseList" });
export const KnowledgeBaseAnswer = z.strictObject({ database: KnowledgeBase }).meta({ id: "KnowledgeBaseAnswer" });
export const KnowledgeBaseUpdated = z
  .strictObject({
    database: KnowledgeBase,
    task_id: Uuid.nullable().meta({ description: "The task that indexes again, with `reindex`." }),
    warnings: z.array(z.string()),
  })
  .meta({ id: "KnowledgeBaseUpdated" });
export const KnowledgeBaseDeleted = z
  .strictObject({ success: z.literal(true), task_id: Uuid })
  .meta({ id: "KnowledgeBaseDeleted" });
