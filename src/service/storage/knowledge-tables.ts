import type {
  WithDefault,
  JsonWithDefault,
  TimeWithDefault,
  Json,
  JsonObject,
  JsonOrNull,
  OrNull,
  Time,
} from "./columns.ts";

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
  no: WithDefault<number>;
  name: string;
  description: WithDefault<string>;
  kb_type: KnowledgeBaseKind;
  share_config: Json<JsonObject>;
  embedding_model_spec: OrNull<string>;
  embedding_dims: OrNull<number>;
  chunking: JsonWithDefault<JsonObject>;
  query_params: JsonWithDefault<JsonObject>;
  connector: JsonWithDefault<JsonObject>;
  revision: WithDefault<number>;
  created_by: number;
  created_at: TimeWithDefault;
  updated_at: TimeWithDefault;
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
  created_at: TimeWithDefault;
  expires_at: Time;
}

/** States of a file; only `knowledge/state/claims.ts` changes them. */
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
  status: WithDefault<KnowledgeFileStatus>;
  came_from: OrNull<KnowledgeFileStatus>;
  came_error: JsonOrNull<KnowledgeFileError>;
  claim_task: OrNull<string>;
  claim_attempt: OrNull<number>;
  lease_until: OrNull<Time>;
  tries: WithDefault<number>;
  parsed_by: OrNull<string>;
  indexed_by: OrNull<string>;
  markdown_key: OrNull<string>;
  markdown_bytes: OrNull<number>;
  lines: OrNull<number>;
  pages: OrNull<number>;
  parser: OrNull<string>;
  warnings: JsonWithDefault<readonly string[]>;
  generation: WithDefault<number>;
  chunk_count: WithDefault<number>;
  token_count: WithDefault<number>;
  term_count: WithDefault<number>;
  vector_count: WithDefault<number>;
  has_stale_chunks: WithDefault<boolean>;
  params: JsonWithDefault<JsonObject>;
  error: JsonOrNull<KnowledgeFileError>;
  created_by: OrNull<number>;
  created_at: TimeWithDefault;
  updated_at: TimeWithDefault;
}
