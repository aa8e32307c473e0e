import { z } from "zod";
import { Page, Time, Uuid } from "./common.ts";
import { Chunking, KbPath, KnowledgeCounts } from "./knowledge-bases.ts";

export const FileStatus = z
  .enum(["uploaded", "parsing", "parsed", "error_parsing", "indexing", "indexed", "error_indexing"])
  .meta({ id: "KnowledgeFileStatus" });
export type FileStatus = z.infer<typeof FileStatus>;

export const FileError = z
  .strictObject({ code: z.string(), message: z.string(), retryable: z.boolean() })
  .meta({ id: "KnowledgeFileError" });
export type FileError = z.infer<typeof FileError>;

export const KnowledgeFile = z
  .strictObject({
    file_id: z.string(),
    kb_id: z.string(),
    filename: z.string(),
    source_path: z.string().nullable(),
    source_url: z.string().nullable(),
    file_type: z.string(),
    file_path: z.string().meta({ description: "The object's address, good only in this knowledge base." }),
    content_hash: z.string(),
    size: z.int(),
    status: FileStatus,
    error: FileError.nullable(),
    warnings: z.array(z.string()),
    markdown_bytes: z.int().nullable(),
    lines: z.int().nullable(),
    pages: z.int().nullable(),
    parser: z.string().nullable(),
    chunk_count: z.int(),
    token_count: z.int(),
    generation: z.int(),
    params: z.record(z.string(), z.unknown()),
    created_by: z.int().nullable(),
    created_at: Time,
    updated_at: Time,
    progress: z
      .strictObject({ task_id: Uuid, since: Time, lease_until: Time })
      .optional()
      .meta({ description: "While a task works on the file." }),
  })
  .meta({ id: "KnowledgeFile" });
export type KnowledgeFile = z.infer<typeof KnowledgeFile>;

const NamedFile = z.strictObject({ file_id: z.string(), filename: z.string(), status: FileStatus });

export const UploadQuery = z.strictObject({
  kb_id: z.string().min(1).max(64),
  allow_duplicate: z.enum(["true", "false"]).optional(),
});
export const Uploaded = z
  .strictObject({
    message: z.string(),
    file_path: z.string(),
    content_hash: z.string().meta({ description: "SHA-256 of the bytes, lower-case hex." }),
    size: z.int(),
    kb_id: z.string(),
    filename: z.string(),
    file_type: z.string(),
    has_same_name: z.boolean(),
    same_name_files: z.array(NamedFile),
  })
  .meta({ id: "KnowledgeUploaded" });
export type Uploaded = z.infer<typeof Uploaded>;

export const FetchUrlBody = z
  .strictObject({
    url: z.string().min(1).max(4_096).meta({ description: "http or https, of a host that is on the allow-list" }),
    kb_id: z.string().min(1).max(64),
  })
  .meta({ id: "FetchUrlBody" });
export const UrlFetched = z
  .strictObject({
    status: z.literal("success"),
    file_path: z.string(),
    content_hash: z.string().meta({ description: "SHA-256 of the bytes that are kept, lower-case hex." }),
    size: z.int(),
    filename: z.string(),
    final_url: z.string().meta({ description: "After the redirects; the record's `source_url`." }),
    content_type: z.string(),
    has_same_name: z.boolean(),
    same_name_files: z.array(NamedFile),
  })
  .meta({ id: "KnowledgeUrlFetched" });
export type UrlFetched = z.infer<typeof UrlFetched>;

export const SupportedTypes = z
  .strictObject({
    types: z.array(
      z.strictObject({
        extension: z.string(),
        parser: z.string(),
        available: z.boolean(),
        needs: z.string().optional().meta({ description: "The program that is missing." }),
      }),
    ),
  })
  .meta({ id: "KnowledgeSupportedTypes" });
export type SupportedTypes = z.infer<typeof SupportedTypes>;

/** An address that `upload` or `fetch-url` gave. */
const Address = z.string().min(1).max(4_096);
const addParams = {
  content_hashes: z.record(z.string().max(4_096), z.string().min(1).max(256)),
  source_paths: z.record(z.string().max(4_096), z.string().min(1).max(1_024)),
  content_type: z.string().max(64).meta({ description: "`file`, the only one." }),
  once: z.boolean().meta({
    description:
      "An address that has a record gives that record instead of another: the call may be repeated, and arrive late.",
  }),
};
const Items = z.array(Address).min(1).max(1_000);

export const AddDocumentsBody = z
  .strictObject({ items: Items, params: z.strictObject(addParams).partial().default({}) })
  .meta({ id: "AddDocumentsBody" });
export type AddDocumentsBody = z.infer<typeof AddDocumentsBody>;

export const ImportDocumentsBody = z
  .strictObject({
    items: Items,
    params: z
      .strictObject({ ...addParams, auto_index: z.boolean(), chunking: Chunking })
      .partial()
      .default({}),
  })
  .meta({ id: "ImportDocumentsBody" });
export type ImportDocumentsBody = z.infer<typeof ImportDocumentsBody>;

export const DocumentsAdded = z
  .strictObject({
    status: z.enum(["success", "partial_failed", "failed"]),
    message: z.string(),
    added: z.int(),
    failed: z.int(),
    items: z.array(
      z.strictObject({
        index: z.int(),
        item: z.string(),
        file_id: z.string(),
        status: FileStatus,
        file: KnowledgeFile,
      }),
    ),
    failed_items: z.array(
      z.strictObject({
        index: z.int(),
        item: z.string(),
        error: z.strictObject({ code: z.string(), message: z.string() }),
      }),
    ),
  })
  .meta({ id: "DocumentsAdded" });
export type DocumentsAdded = z.infer<typeof DocumentsAdded>;

export const DocumentsImported = z
  .strictObject({
    message: z.string(),
    status: z.literal("queued"),
    task_id: Uuid,
    file_ids: z.array(z.string()),
  })
  .meta({ id: "DocumentsImported" });
export type DocumentsImported = z.infer<typeof DocumentsImported>;

const FileId = z.string().min(1).max(64);
/** Beyond `SERVICE_KB_MAX_IDS` refused by number, not by shape: the by-state routes take them. Countless are not looked at. */
const FileIds = z.array(FileId).min(1).max(2_000);

export const ParseParams = z
  .strictObject({
    force: z.boolean().meta({ description: "Parse files again that are parsed or indexed." }),
    ocr: z.enum(["auto", "on", "off"]),
    languages: z
      .string()
      .max(100)
      .regex(/^[A-Za-z_]{2,20}(\+[A-Za-z_]{2,20})*$/),
  })
  .partial()
  .meta({ id: "ParseParams" });
export type ParseParams = z.infer<typeof ParseParams>;
export const ParseBody = z.union([
  z.strictObject({ file_ids: FileIds, params: ParseParams.default({}) }).meta({ id: "ParseDocumentsBody" }),
  FileIds,
]);

export const IndexParams = z.strictObject({ chunking: Chunking }).partial().meta({ id: "IndexParams" });
export type IndexParams = z.infer<typeof IndexParams>;
export const IndexBody = z.union([
  z.strictObject({ file_ids: FileIds, params: IndexParams.default({}) }).meta({ id: "IndexDocumentsBody" }),
  FileIds,
]);

export const ParsePendingBody = z
  .strictObject({
    params: ParseParams.omit({ force: true }).extend({ include_failed: z.boolean().optional() }).default({}),
  })
  .nullish();
export const IndexPendingBody = z
  .strictObject({ params: IndexParams.extend({ include_failed: z.boolean().optional() }).default({}) })
  .nullish();

export const Queued = z
  .strictObject({ message: z.string(), status: z.literal("queued"), task_id: Uuid })
  .meta({ id: "KnowledgeQueued" });
export type Queued = z.infer<typeof Queued>;
export const PendingQueued = z
  .strictObject({
    message: z.string(),
    status: z.enum(["queued", "success"]),
    task_id: Uuid.nullable(),
    queued_count: z.int(),
    joined: z.boolean().meta({ description: "A task that was open already takes them." }),
  })
  .meta({ id: "KnowledgePendingQueued" });
export type PendingQueued = z.infer<typeof PendingQueued>;

export const FilePath = KbPath.extend({ file_id: z.string().min(1).max(64) });
export const FileListQuery = z.strictObject({
  status: FileStatus.optional(),
  query: z.string().max(255).optional().meta({ description: "Part of the file's name, in any case." }),
  source_path: z.string().max(1_024).optional().meta({ description: "How the source path begins." }),
  content_hash: z.string().max(256).optional(),
  ...Page,
});
export type FileListQuery = z.infer<typeof FileListQuery>;
export const FileList = z
  .strictObject({ files: z.array(KnowledgeFile), total: z.int(), counts: KnowledgeCounts })
  .meta({ id: "KnowledgeFileList" });
export type FileList = z.infer<typeof FileList>;
export const FileAnswer = z.strictObject({ file: KnowledgeFile }).meta({ id: "KnowledgeFileAnswer" });

export const ChunkListQuery = z.strictObject(Page);
export const ChunkList = z
  .strictObject({
    chunks: z.array(
      z.strictObject({
        chunk_index: z.int(),
        content: z.string(),
        heading: z.string(),
        start_line: z.int(),
        end_line: z.int(),
        page: z.int().nullable(),
        token_count: z.int(),
        has_vector: z.boolean(),
      }),
    ),
    total: z.int(),
  })
  .meta({ id: "KnowledgeChunkList" });
export type ChunkList = z.infer<typeof ChunkList>;

export const DeleteDocumentsBody = z.strictObject({ file_ids: FileIds }).meta({ id: "DeleteDocumentsBody" });
export const DocumentsDeleted = z
  .strictObject({ deleted: z.array(z.string()), missing: z.array(z.string()) })
  .meta({ id: "DocumentsDeleted" });
