import { extname } from "node:path";
import type { InsertObject } from "kysely";
import type { AddDocumentsBody } from "../../protocol/knowledge-files.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import { json } from "../../storage/storable.ts";
import type { Database } from "../../storage/tables.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { holdBase, type BaseRow } from "../state/access.ts";
import { addressOf, objectKeyOf } from "./addresses.ts";
import type { FileRow } from "../state/file-view.ts";
import { newId } from "../state/new-id.ts";

/** What is known of an object that an address names. */
interface NamedObject {
  readonly object_key: string;
  readonly filename: string;
  readonly content_hash: string;
  readonly size: number;
  readonly source_url: string | null;
}

/** The record of each item, in order; `added` of them are new. */
export interface AddedRecords {
  readonly rows: readonly FileRow[];
  readonly added: number;
}

/**
 * Makes records of uploaded objects: all of them or none.
 *
 * @throws {ApiProblem} object_unknown
 */
export async function addRecords(
  trx: Transaction,
  base: BaseRow,
  caller: Caller,
  { items, params }: { readonly items: readonly string[]; readonly params: AddDocumentsBody["params"] },
): Promise<AddedRecords> {
  await holdBase(trx, base.id);
  const known = await findObjects(trx, base.id, items);
  const unknown = items.filter((item) => !known.has(item));
  if (unknown.length > 0) {
    throw new ApiProblem("object_unknown", "not addresses of objects of this knowledge base: nothing was added", {
      items: [...new Set(unknown)],
    });
  }
  const there = params.once === true ? await findRecords(trx, base.id, items) : new Map<string, FileRow>();
  const wanted = params.once === true ? [...new Set(items)].filter((item) => !there.has(item)) : items;
  const made = await insertRecords(
    trx,
    wanted.flatMap((item) => {
      const object = known.get(item);
      if (object === undefined) return [];
      return [
        {
          id: newId("file"),
          kb_id: base.id,
          filename: object.filename,
          source_path: params.source_paths?.[item] ?? null,
          source_url: object.source_url,
          file_type: extname(object.filename).slice(1).toLowerCase(),
          object_key: object.object_key,
          file_path: item,
          content_hash: params.content_hashes?.[item] ?? object.content_hash,
          size: object.size,
          params: json({}),
          created_by: caller.userId,
        },
      ];
    }),
  );
  if (params.once !== true) return { rows: made, added: made.length };
  const byAddress = new Map([...there, ...made.map((row) => [row.file_path, row] as const)]);
  return { rows: items.flatMap((item) => byAddress.get(item) ?? []), added: made.length };
}

type NewRecord = InsertObject<Database, "knowledge_file"> & { readonly id: string; readonly object_key: string };

/** @returns the rows in the order given */
async function insertRecords(trx: Transaction, rows: readonly NewRecord[]): Promise<FileRow[]> {
  if (rows.length === 0) return [];
  const made = await trx.insertInto("knowledge_file").values(rows).returningAll().execute();
  // From now on the records name the objects.
  await trx
    .deleteFrom("knowledge_upload")
    .where(
      "object_key",
      "in",
      rows.map((row) => row.object_key),
    )
    .execute();
  const byId = new Map(made.map((row) => [row.id, row]));
  return rows.flatMap(({ id }) => byId.get(id) ?? []);
}

/** The first record of each address that has one. */
async function findRecords(trx: Transaction, kbId: string, items: readonly string[]): Promise<Map<string, FileRow>> {
  const rows = await trx
    .selectFrom("knowledge_file")
    .selectAll()
    .where("kb_id", "=", kbId)
    .where("object_key", "in", [...new Set(items.flatMap((item) => objectKeyOf(kbId, item) ?? []))])
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .execute();
  return new Map(rows.map((row) => [row.file_path, row]));
}

/**
 * By address. The rows that name the objects are held: a deletion of the last of them waits, and then sees the new ones.
 *
 * Uploads first, and in order: a call that waits while another adds the same object then sees the record that it has made.
 */
async function findObjects(
  trx: Transaction,
  kbId: string,
  items: readonly string[],
): Promise<ReadonlyMap<string, NamedObject>> {
  const keys = [...new Set(items.flatMap((item) => objectKeyOf(kbId, item) ?? []))];
  if (keys.length === 0) return new Map();
  const columns = ["object_key", "filename", "content_hash", "size", "source_url"] as const;
  const uploads = await trx
    .selectFrom("knowledge_upload")
    .select(columns)
    .where("kb_id", "=", kbId)
    .where("object_key", "in", keys)
    .orderBy("object_key")
    .forUpdate()
    .execute();
  const records = await trx
    .selectFrom("knowledge_file")
    .select(columns)
    .where("kb_id", "=", kbId)
    .where("object_key", "in", keys)
    .forShare()
    .execute();
  return new Map(
    [...records, ...uploads].map((object) => [addressOf(kbId, object.object_key, object.filename), object]),
  );
}
