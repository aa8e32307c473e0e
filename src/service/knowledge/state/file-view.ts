import type { Selectable } from "kysely";
import type { KnowledgeFile } from "../../protocol/knowledge-files.ts";
import type { KnowledgeFileTable } from "../../storage/knowledge-tables.ts";

export type FileRow = Selectable<KnowledgeFileTable>;

/** A file as the API shows it. */
export function showFile(row: FileRow): KnowledgeFile {
  const { claim_task: taskId, lease_until: leaseUntil } = row;
  return {
    file_id: row.id,
    kb_id: row.kb_id,
    filename: row.filename,
    source_path: row.source_path,
    source_url: row.source_url,
    file_type: row.file_type,
    file_path: row.file_path,
    content_hash: row.content_hash,
    size: row.size,
    status: row.status,
    error: row.error,
    warnings: [...row.warnings],
    markdown_bytes: row.markdown_bytes,
    lines: row.lines,
    pages: row.pages,
    parser: row.parser,
    chunk_count: row.chunk_count,
    token_count: row.token_count,
    generation: row.generation,
    params: { ...row.params },
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    ...(taskId === null || leaseUntil === null
      ? {}
      : {
          progress: {
            task_id: taskId,
            since: row.updated_at.toISOString(),
            lease_until: leaseUntil.toISOString(),
          },
        }),
  };
}
