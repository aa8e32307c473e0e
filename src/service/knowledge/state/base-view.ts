import { sql } from "kysely";
import type { FileStatus } from "../../protocol/knowledge-files.ts";
import { Chunking, RetrieveOptions, type KnowledgeBase, type KnowledgeCounts } from "../../protocol/knowledge-bases.ts";
import { ShareConfig } from "../../protocol/auth.ts";
import type { Caller } from "../../auth/caller.ts";
import { may, PERMISSIONS } from "../../auth/permissions.ts";
import { DEFAULT_SHARE } from "../../auth/scopes.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { BaseRow } from "./access.ts";

/** The engines that answer queries, by name. */
export interface EngineNames {
  readonly lexical: string;
  readonly vector: string;
}

const NO_FILES: KnowledgeCounts = {
  uploaded: 0,
  parsing: 0,
  parsed: 0,
  error_parsing: 0,
  indexing: 0,
  indexed: 0,
  error_indexing: 0,
  total: 0,
  chunks: 0,
  pending_parse: 0,
  pending_index: 0,
};

/** Counts the files of knowledge bases. @returns one entry for each id */
export async function countFiles(
  db: Queries | Transaction,
  kbIds: readonly string[],
): Promise<ReadonlyMap<string, KnowledgeCounts>> {
  const counts = new Map(kbIds.map((id) => [id, { ...NO_FILES }]));
  if (kbIds.length === 0) return counts;
  const rows = await db
    .selectFrom("knowledge_file")
    .select([
      "kb_id",
      "status",
      sql<number>`count(*)::int`.as("files"),
      sql<number>`coalesce(sum(chunk_count), 0)::bigint`.as("chunks"),
    ])
    .where("kb_id", "in", [...kbIds])
    .groupBy(["kb_id", "status"])
    .execute();
  for (const { kb_id: kbId, status, files, chunks } of rows) {
    const count = counts.get(kbId);
    if (count === undefined) continue;
    count[status] = files;
    count.total += files;
    count.chunks += chunks;
    count.pending_parse += isPending("parse", status) ? files : 0;
    count.pending_index += isPending("index", status) ? files : 0;
  }
  return counts;
}

/** What the by-state tasks would take. */
function isPending(work: "parse" | "index", status: FileStatus): boolean {
  return work === "parse" ? status === "uploaded" : status === "parsed" || status === "error_indexing";
}

/** A knowledge base as the API shows it to a caller. */
export function showBase(
  row: BaseRow,
  caller: Caller,
  counts: KnowledgeCounts = NO_FILES,
  engines: EngineNames,
): KnowledgeBase {
  return {
    kb_id: row.id,
    kb_type: row.kb_type,
    supports_documents: row.kb_type === "local",
    name: row.name,
    description: row.description,
    // Reading is tolerant: scopes that cannot be read grant nothing, and are shown as those of a new one.
    share_config: ShareConfig.safeParse(row.share_config).data ?? DEFAULT_SHARE,
    embedding_model_spec: row.embedding_model_spec,
    embedding_dims: row.embedding_dims,
    chunking: readChunking(row),
    query_params: readQueryParams(row),
    connector: { ...row.connector },
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    revision: row.revision,
    can_manage: may(caller, PERMISSIONS.manageBase, row),
    counts,
    index: indexOf(row, engines),
  };
}

/** What answers queries: engines of ours, or the system that has the content. */
function indexOf(row: BaseRow, engines: EngineNames): KnowledgeBase["index"] {
  switch (row.kb_type) {
    case "dify":
      return { lexical: "dify", vector: "dify" };
    case "notion":
      return { lexical: "notion+bm25", vector: null };
    case "local":
      return { lexical: engines.lexical, vector: row.embedding_model_spec === null ? null : engines.vector };
  }
}

/** The stored chunk sizes; what cannot be read is none. */
export function readChunking(row: Pick<BaseRow, "chunking">): Chunking {
  return Chunking.safeParse(row.chunking).data ?? {};
}

/** The stored defaults of queries; what cannot be read is none. */
export function readQueryParams(row: Pick<BaseRow, "query_params">): RetrieveOptions {
  return RetrieveOptions.safeParse(row.query_params).data ?? {};
}
