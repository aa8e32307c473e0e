import { extname } from "node:path";
import type {
  AddDocumentsBody,
  DocumentsAdded,
  DocumentsImported,
  ImportDocumentsBody,
} from "../api/knowledge-files.ts";
import { ApiProblem } from "../api/problems.ts";
import type { Caller } from "../auth/caller.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";
import { startTask } from "../tasks/start-task.ts";
import { holdBase, type BaseRow } from "./access.ts";
import { addressOf, objectKeyOf } from "./addresses.ts";
import { showFile, type FileRow } from "./file-view.ts";
import { newId } from "./new-id.ts";
import { KINDS } from "./task-kinds.ts";
import type { OnKnowledgeStep } from "./worker-context.ts";

/** Makes file records of uploaded objects. */
export type Documents = ReturnType<typeof createDocuments>;

type AddParams = AddDocumentsBody["params"];

export function createDocuments(storage: Storage, onStep?: OnKnowledgeStep) {
  return {
    /** Records only: nothing is parsed. The same address twice is two records. */
    async add(base: BaseRow, caller: Caller, { items, params }: AddDocumentsBody): Promise<DocumentsAdded> {
      assertContentType(params);
      const rows = await storage.transaction((trx) => addRecords(trx, base, caller, { items, params }));
      onStep?.("add.recorded", base.id);
      return {
        status: "success",
        message: `${rows.length} added; parse them next`,
        added: rows.length,
        failed: 0,
        items: rows.map((row, index) => ({
          index,
          item: items[index] ?? row.file_path,
          file_id: row.id,
          status: row.status,
          file: showFile(row),
        })),
        failed_items: [],
      };
    },

    /** The same, and a task that parses and, when asked for, indexes them: in one transaction. */
    async import(base: BaseRow, caller: Caller, body: ImportDocumentsBody): Promise<DocumentsImported> {
      const { auto_index, chunking, ...params } = body.params;
      assertContentType(params);
      const queued = await storage.transaction(async (trx) => {
        const rows = await addRecords(trx, base, caller, { items: body.items, params });
        const fileIds = rows.map(({ id }) => id);
        const { task } = await startTask(storage, trx, {
          kind: KINDS.ingest,
          userId: caller.userId,
          name: `import ${rows.length} into ${base.name}`,
          payload: {
            kb_id: base.id,
            file_ids: fileIds,
            params: { auto_index: auto_index ?? false, ...(chunking === undefined ? {} : { chunking }) },
          },
        });
        return {
          message: "queued: the task's end says that every file was visited, each file's status says how it went",
          status: "queued" as const,
          task_id: task.id,
          file_ids: fileIds,
        };
      });
      onStep?.("add.recorded", base.id);
      return queued;
    },
  };
}

/** @throws {ApiProblem} content_type_unsupported */
function assertContentType({ content_type: type = "file" }: AddParams): void {
  if (type === "file") return;
  const advice = type === "url" ? ": send the address to /api/knowledge/files/fetch-url first" : "";
  throw new ApiProblem("content_type_unsupported", `content_type is ${JSON.stringify(type)}, not "file"${advice}`);
}

/** What is known of an object that an address names. */
interface NamedObject {
  readonly object_key: string;
  readonly filename: string;
  readonly content_hash: string;
  readonly size: number;
  readonly source_url: string | null;
}

async function addRecords(
  trx: Transaction,
  base: BaseRow,
  caller: Caller,
  { items, params }: { readonly items: readonly string[]; readonly params: AddParams },
): Promise<FileRow[]> {
  await holdBase(trx, base.id);
  const known = await findObjects(trx, base.id, items);
  const unknown = items.filter((item) => !known.has(item));
  if (unknown.length > 0) {
    throw new ApiProblem("object_unknown", "not addresses of objects of this knowledge base: nothing was added", {
      items: [...new Set(unknown)],
    });
  }
  const rows = items.flatMap((item) => {
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
  });
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

/** By address. The rows that name the objects are held: a deletion of the last of them waits, and then sees the new ones. */
async function findObjects(
  trx: Transaction,
  kbId: string,
  items: readonly string[],
): Promise<ReadonlyMap<string, NamedObject>> {
  const keys = [...new Set(items.flatMap((item) => objectKeyOf(kbId, item) ?? []))];
  if (keys.length === 0) return new Map();
  const columns = ["object_key", "filename", "content_hash", "size", "source_url"] as const;
  const records = await trx
    .selectFrom("knowledge_file")
    .select(columns)
    .where("kb_id", "=", kbId)
    .where("object_key", "in", keys)
    .forShare()
    .execute();
  const uploads = await trx
    .selectFrom("knowledge_upload")
    .select(columns)
    .where("kb_id", "=", kbId)
    .where("object_key", "in", keys)
    .forUpdate()
    .execute();
  return new Map(
    [...records, ...uploads].map((object) => [addressOf(kbId, object.object_key, object.filename), object]),
  );
}
