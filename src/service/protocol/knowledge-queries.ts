import { z } from "zod";
import { Page, Time } from "./common.ts";
import { KbType, RetrieveOptions, SearchMode } from "./knowledge-bases.ts";
import { FileStatus } from "./knowledge-files.ts";

export const ExternalListQuery = z.strictObject({
  query: z.string().max(200).optional().meta({ description: "Part of the name, in any case." }),
  ...Page,
});
export const ExternalList = z
  .strictObject({
    databases: z.array(
      z.strictObject({
        kb_id: z.string(),
        name: z.string(),
        description: z.string(),
        kb_type: KbType,
        supports_documents: z.boolean(),
        can_manage: z.boolean(),
        file_count: z.int(),
      }),
    ),
    total: z.int(),
  })
  .meta({ id: "ExternalKnowledgeBaseList" });
export type ExternalList = z.infer<typeof ExternalList>;

export const ExternalFilesQuery = z.strictObject({
  query: z.string().max(255).optional().meta({ description: "Part of the file's name, in any case." }),
  status: FileStatus.optional(),
  offset: z.coerce.number().int().min(0).max(1_000_000_000).default(0),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});
export type ExternalFilesQuery = z.infer<typeof ExternalFilesQuery>;
export const ExternalFiles = z
  .strictObject({
    files: z.array(
      z.strictObject({
        kb_id: z.string(),
        kb_name: z.string(),
        file_id: z.string(),
        filename: z.string(),
        source_path: z.string().nullable(),
        file_type: z.string(),
        status: FileStatus,
        file_size: z.int(),
        created_at: Time,
        updated_at: Time,
      }),
    ),
    total: z.int(),
    offset: z.int(),
    limit: z.int(),
    has_more: z.boolean(),
  })
  .meta({ id: "ExternalFiles" });
export type ExternalFiles = z.infer<typeof ExternalFiles>;

export const RetrieveBody = z
  .strictObject({
    query: z.string().trim().min(1).max(4_000),
    file_name: z.string().min(1).max(255).optional().meta({ description: "Part of the file's name, in any case." }),
    file_ids: z.array(z.string().min(1).max(64)).min(1).max(100).optional(),
    options: RetrieveOptions.default({}),
  })
  .meta({ id: "RetrieveBody" });
export type RetrieveBody = z.infer<typeof RetrieveBody>;

/** Scores as their engines gave them, never mixed; `score` is the one that ordered. */
const Scores = z.strictObject({
  bm25: z.number().optional(),
  cosine: z.number().optional(),
  rrf: z.number().optional(),
  rerank: z.number().optional(),
  remote: z.number().optional(),
});
export const Retrieved = z
  .strictObject({
    kb_id: z.string(),
    query: z.string(),
    search_mode: SearchMode.meta({ description: "The mode that answered; never `auto`." }),
    index: z
      .strictObject({
        lexical: z.string().nullable(),
        vector: z.string().nullable(),
        embedding_model: z.string().nullable(),
        reranker: z.string().nullable(),
      })
      .meta({ description: "What was searched; null is what took no part." }),
    results: z.array(
      z.strictObject({
        id: z.string(),
        kb_id: z.string(),
        file_id: z.string(),
        content: z.string(),
        score: z.number(),
        metadata: z.strictObject({
          source: z.string(),
          source_path: z.string().nullable(),
          source_url: z.string().nullable(),
          file_type: z.string(),
          chunk_index: z.int().nullable(),
          heading: z.string(),
          start_line: z.int().nullable(),
          end_line: z.int().nullable(),
          page: z.int().nullable(),
          scores: Scores,
        }),
      }),
    ),
    warnings: z.array(z.string()),
    took_ms: z.int(),
  })
  .meta({ id: "Retrieved" });
export type Retrieved = z.infer<typeof Retrieved>;

export const OpenQuery = z.strictObject({
  offset: z.coerce.number().int().min(0).max(1_000_000_000).default(0).meta({ description: "Lines to skip." }),
  limit: z.coerce.number().int().min(1).max(1_800).default(200),
  numbered: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "Begin each line with its number and a tab." }),
});
export type OpenQuery = z.infer<typeof OpenQuery>;
export const Opened = z
  .strictObject({
    file_id: z.string(),
    filename: z.string(),
    offset: z.int(),
    window_size: z.int().meta({ description: "Lines in `content`." }),
    start_line: z.int().meta({ description: "Counted from 1; 0 when the window is empty." }),
    end_line: z.int(),
    total_lines: z.int(),
    has_more_before: z.boolean(),
    has_more_after: z.boolean(),
    next_offset: z.int().nullable(),
    content: z.string(),
  })
  .meta({ id: "Opened" });
export type Opened = z.infer<typeof Opened>;

const Pattern = z.string().min(1).max(500);
export const FindBody = z
  .strictObject({
    patterns: z.array(Pattern).min(1).max(10).optional(),
    pattern: Pattern.optional().meta({ description: "Another way to give one." }),
    use_regex: z.boolean().default(false).meta({ description: "RE2 syntax: no back-references, no look-around." }),
    case_sensitive: z.boolean().default(false),
    max_windows: z.int().min(1).max(20).default(5),
    window_size: z.int().min(1).max(200).default(80).meta({ description: "Lines of a window." }),
    after_line: z.int().min(0).default(0).meta({ description: "Go on behind this line: `next_after_line`." }),
  })
  .refine(({ patterns, pattern }) => (patterns === undefined) !== (pattern === undefined), {
    message: "give either patterns or pattern",
    path: ["patterns"],
  })
  .meta({ id: "FindBody" });
export type FindBody = z.infer<typeof FindBody>;
export const Found = z
  .strictObject({
    file_id: z.string(),
    semantic: z.literal(false),
    match_mode: z.enum(["keyword", "regex"]),
    total_matches: z.int().meta({ description: "Matching lines of the whole file." }),
    total_lines: z.int(),
    windows: z.array(
      z.strictObject({
        start_line: z.int(),
        end_line: z.int(),
        matched_lines: z.array(z.int()),
        content: z.string(),
      }),
    ),
    has_more: z.boolean(),
    next_after_line: z.int().nullable(),
  })
  .meta({ id: "Found" });
export type Found = z.infer<typeof Found>;
