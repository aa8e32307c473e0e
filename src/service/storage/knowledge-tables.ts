import type { Given, GivenJson, GivenTime, Json, JsonObject, JsonOrNull, OrNull, Time } from "./columns.ts";

// Mirrors migrations/010_knowledge.sql. Chunks and vectors are read from the partition of their knowledge base.

/** Tables of the knowledge base. */
export interface KnowledgeTables {
  knowledge_base: KnowledgeBaseTable;
  knowledge_upload: KnowledgeUploadTable;
  knowledge_file: KnowledgeFileTable;
}

/** Where content comes from: files of ours, or a remote system that only answers queries. */
export type KnowledgeBaseKind = "local" | "dify" | "notion";

export interface KnowledgeBaseTable {
  id: string;
  /** Names its partitions. */
  no: Given<number>;
  name: string;
  description: Given<string>;
  kb_type: KnowledgeBaseKind;
  share_config: Json<JsonObject>;
  embedding_model_spec: OrNull<string>;
  embedding_dims: OrNull<number>;
  chunking: GivenJson<JsonObject>;
  query_params: GivenJson<JsonObject>;
  connector: GivenJson<JsonObject>;
  revision: Given<number>;
  created_by: number;
  created_at: GivenTime;
  updated_at: GivenTime;
  deleted_at: OrNull<Time>;
}

export interface KnowledgeUploadTable {
  object_key: string;
  kb_id: string;
  filename: string;
  content_hash: string;
  size: number;
  source_url: OrNull<string>;
  created_by: number;
  created_at: GivenTime;
  expires_at: Time;
}

/** States of a file; `knowledge/state/states.ts` alone changes them. */
export type KnowledgeFileStatus =
  | "uploaded"
  | "parsing"
  | "parsed"
  | "error_parsing"
  | "indexing"
  | "indexed"
  | "error_indexing";

/** Why a file could not be parsed or indexed. */
export interface KnowledgeFileError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

export interface KnowledgeFileTable {
  id: string;
  kb_id: string;
  filename: string;
  source_path: OrNull<string>;
  source_url: OrNull<string>;
  file_type: string;
  object_key: string;
  file_path: string;
  content_hash: string;
  size: number;
  status: Given<KnowledgeFileStatus>;
  came_from: OrNull<KnowledgeFileStatus>;
  came_error: JsonOrNull<KnowledgeFileError>;
  claim_task: OrNull<string>;
  claim_attempt: OrNull<number>;
  lease_until: OrNull<Time>;
  tries: Given<number>;
  parsed_by: OrNull<string>;
  indexed_by: OrNull<string>;
  markdown_key: OrNull<string>;
  markdown_bytes: OrNull<number>;
  lines: OrNull<number>;
  pages: OrNull<number>;
  parser: OrNull<string>;
  warnings: GivenJson<readonly string[]>;
  generation: Given<number>;
  chunk_count: Given<number>;
  token_count: Given<number>;
  term_count: Given<number>;
  vector_count: Given<number>;
  has_stale_chunks: Given<boolean>;
  params: GivenJson<JsonObject>;
  error: JsonOrNull<KnowledgeFileError>;
  created_by: OrNull<number>;
  created_at: GivenTime;
  updated_at: GivenTime;
}
