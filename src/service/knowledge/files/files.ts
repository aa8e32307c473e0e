import type { Readable } from "node:stream";
import { sql } from "kysely";
import type { ChunkList, FileList, FileListQuery, KnowledgeFile } from "../../protocol/knowledge-files.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Objects } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { BaseRow } from "../state/access.ts";
import { countFiles } from "../state/base-view.ts";
import { showFile, type FileRow } from "../state/file-view.ts";
import { chunkTable, vectorTable } from "../state/partitions.ts";
import { containsText } from "../../storage/contains-text.ts";

/** Reads file records and what belongs to them. */
export type Files = ReturnType<typeof createFiles>;

export function createFiles({ storage, objects }: { storage: Storage; objects: Objects }) {
  return {
    /** The last changed first. */
    async list(base: BaseRow, filter: FileListQuery): Promise<FileList> {
      let query = storage.db.selectFrom("knowledge_file").where("kb_id", "=", base.id);
      if (filter.status !== undefined) query = query.where("status", "=", filter.status);
      if (filter.query !== undefined) query = query.where(containsText(sql.ref("filename"), filter.query));
      if (filter.source_path !== undefined)
        query = query.where(sql<boolean>`starts_with(coalesce(source_path, ''), ${filter.source_path})`);
      if (filter.content_hash !== undefined) query = query.where("content_hash", "=", filter.content_hash);
      const rows = await query
        .selectAll()
        .orderBy("updated_at", "desc")
        .orderBy("id")
        .offset(filter.skip)
        .limit(filter.limit)
        .execute();
      const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
      const counts = (await countFiles(storage.db, [base.id])).get(base.id);
      if (counts === undefined) throw new Error("a knowledge base was not counted");
      return { files: rows.map(showFile), total, counts };
    },

    async get(base: BaseRow, fileId: string): Promise<KnowledgeFile> {
      return showFile(await findFile(storage.db, base.id, fileId));
    },

    /** The original. */
    async download(base: BaseRow, fileId: string): Promise<{ filename: string; size: number; stream: Readable }> {
      const { filename, size, object_key: key } = await findFile(storage.db, base.id, fileId);
      return { filename, size, stream: await objects.get(key) };
    },

    /** The parsed Markdown. @throws {ApiProblem} file_not_parsed */
    async content(base: BaseRow, fileId: string): Promise<Readable> {
      return objects.get((await findParsed(storage.db, base.id, fileId)).markdown_key);
    },

    /** Chunks of the live generation. @throws {ApiProblem} file_not_parsed */
    async chunks(base: BaseRow, fileId: string, page: { skip: number; limit: number }): Promise<ChunkList> {
      const file = await findParsed(storage.db, base.id, fileId);
      if (file.chunk_count === 0) return { chunks: [], total: 0 };
      const { rows } = await sql<ChunkList["chunks"][number]>`
        select c.chunk_index, c.content, c.heading, c.start_line, c.end_line, c.page, c.token_count,
          exists (
            select from ${vectorTable(base.no)} v where v.kb_no = ${base.no}::int and v.chunk_id = c.id
          ) as has_vector
        from ${chunkTable(base.no)} c
        where c.kb_no = ${base.no}::int and c.file_id = ${file.id} and c.generation = ${file.generation}
        order by c.chunk_index offset ${page.skip}::bigint limit ${page.limit}::int`.execute(storage.db);
      return { chunks: rows, total: file.chunk_count };
    },
  };
}

/** @throws {ApiProblem} file_not_found */
export async function findFile(db: Queries | Transaction, kbId: string, fileId: string): Promise<FileRow> {
  const row = await db
    .selectFrom("knowledge_file")
    .selectAll()
    .where("id", "=", fileId)
    .where("kb_id", "=", kbId)
    .executeTakeFirst();
  if (row === undefined)
    throw new ApiProblem("file_not_found", `there is no file ${JSON.stringify(fileId)} in this knowledge base`);
  return row;
}

/** A file that has Markdown. @throws {ApiProblem} file_not_found, file_not_parsed */
export async function findParsed(
  db: Queries,
  kbId: string,
  fileId: string,
): Promise<FileRow & { markdown_key: string; lines: number }> {
  const row = await findFile(db, kbId, fileId);
  const { markdown_key, lines } = row;
  if (markdown_key !== null && lines !== null) return { ...row, markdown_key, lines };
  throw new ApiProblem("file_not_parsed", `${row.filename} has not been parsed`, { status: row.status });
}
