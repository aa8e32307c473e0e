import { sql } from "kysely";
import { defined } from "../../../kit/defined.ts";
import type { Uploaded } from "../../protocol/knowledge-files.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import type { StoredObject } from "../../storage/objects.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { holdBase, type BaseRow } from "../state/access.ts";
import { addressOf } from "./addresses.ts";

/** Bytes that are stored and that nothing names yet. */
export interface NewUpload {
  readonly filename: string;
  readonly object: StoredObject;
  /** Where they were fetched from. */
  readonly sourceUrl?: string;
  readonly allowsDuplicate: boolean;
}

const KEPT_DAYS = 7;
/** Files named in a refusal or answer. */
const MOST_NAMED = 20;

/**
 * Names an object, so that it stays until a file record does, or for seven days.
 *
 * @throws {ApiProblem} kb_not_found, duplicate_content
 */
export async function nameUpload(
  trx: Transaction,
  base: BaseRow,
  caller: Caller,
  { filename, object, sourceUrl, allowsDuplicate }: NewUpload,
): Promise<Pick<Uploaded, "file_path" | "content_hash" | "size" | "filename" | "has_same_name" | "same_name_files">> {
  await holdBase(trx, base.id);
  const named = trx
    .selectFrom("knowledge_file")
    .select(["id as file_id", "filename", "status"])
    .where("kb_id", "=", base.id)
    .orderBy("created_at")
    .limit(MOST_NAMED);
  if (!allowsDuplicate) {
    const files = await named.where("content_hash", "=", object.sha256).execute();
    if (files.length > 0) {
      throw new ApiProblem(
        "duplicate_content",
        "this knowledge base has a file of this content: send allow_duplicate=true to upload it again",
        { content_hash: object.sha256, files },
      );
    }
  }
  const sameName = await named.where("filename", "=", filename).execute();
  await trx
    .insertInto("knowledge_upload")
    .values({
      object_key: object.key,
      kb_id: base.id,
      filename,
      content_hash: object.sha256,
      size: object.bytes,
      ...defined({ source_url: sourceUrl }),
      created_by: caller.userId,
      expires_at: sql<Date>`now() + make_interval(days => ${KEPT_DAYS}::int)`,
    })
    .execute();
  return {
    file_path: addressOf(base.id, object.key, filename),
    content_hash: object.sha256,
    size: object.bytes,
    filename,
    has_same_name: sameName.length > 0,
    same_name_files: sameName,
  };
}
