import { sql } from "kysely";
import type { ExternalFiles, ExternalFilesQuery, ExternalList } from "../../protocol/knowledge-queries.ts";
import type { Caller } from "../../auth/caller.ts";
import { may, PERMISSIONS } from "../../auth/permissions.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseRow } from "../state/access.ts";
import { containsText } from "../../storage/contains-text.ts";

/** Knowledge bases that a caller may read, by name. */
export async function listReadable(
  { db }: Storage,
  caller: Caller,
  { query: part, skip, limit }: { query?: string | undefined; skip: number; limit: number },
): Promise<ExternalList> {
  let query = db.selectFrom("knowledge_base").selectAll().where("deleted_at", "is", null);
  if (part !== undefined) query = query.where(containsText(sql.ref("name"), part));
  // Permission is a rule over a document: there are as many knowledge bases as people make, not as files.
  const rows = (await query.orderBy("name").orderBy("id").execute()).filter((row) =>
    may(caller, PERMISSIONS.readBase, row),
  );
  const shown = rows.slice(skip, skip + limit);
  const counts = new Map<string, number>();
  if (shown.length > 0) {
    const counted = await db
      .selectFrom("knowledge_file")
      .select(["kb_id", sql<number>`count(*)::int`.as("files")])
      .where(
        "kb_id",
        "in",
        shown.map(({ id }) => id),
      )
      .groupBy("kb_id")
      .execute();
    for (const { kb_id: kbId, files } of counted) counts.set(kbId, files);
  }
  return {
    databases: shown.map((row) => ({
      kb_id: row.id,
      name: row.name,
      description: row.description,
      kb_type: row.kb_type,
      supports_documents: row.kb_type === "local",
      can_manage: may(caller, PERMISSIONS.manageBase, row),
      file_count: counts.get(row.id) ?? 0,
    })),
    total: rows.length,
  };
}

/** Files of a knowledge base, the last changed first; the query looks only at names. */
export async function listFiles({ db }: Storage, base: BaseRow, filter: ExternalFilesQuery): Promise<ExternalFiles> {
  const { offset, limit } = filter;
  let query = db.selectFrom("knowledge_file").where("kb_id", "=", base.id);
  if (filter.status !== undefined) query = query.where("status", "=", filter.status);
  if (filter.query !== undefined) query = query.where(containsText(sql.ref("filename"), filter.query));
  const rows = await query
    .selectAll()
    .orderBy("updated_at", "desc")
    .orderBy("id")
    .offset(offset)
    .limit(limit)
    .execute();
  const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
  return {
    files: rows.map((row) => ({
      kb_id: base.id,
      kb_name: base.name,
      file_id: row.id,
      filename: row.filename,
      source_path: row.source_path,
      file_type: row.file_type,
      status: row.status,
      file_size: row.size,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    })),
    total,
    offset,
    limit,
    has_more: offset + rows.length < total,
  };
}
