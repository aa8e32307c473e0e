import { defined } from "../../../kit/defined.ts";
import type {
  AddDocumentsBody,
  DocumentsAdded,
  DocumentsImported,
  ImportDocumentsBody,
} from "../../protocol/knowledge-files.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Storage } from "../../storage/storage.ts";
import { startTask } from "../../tasks/start-task.ts";
import type { BaseRow } from "../state/access.ts";
import { addRecords } from "./add-records.ts";
import { showFile } from "../state/file-view.ts";
import { KINDS } from "../state/task-kinds.ts";
import type { OnKnowledgeStep } from "../state/steps.ts";

/** Makes file records of uploaded objects. */
export type Documents = ReturnType<typeof createDocuments>;

type AddParams = AddDocumentsBody["params"];

export function createDocuments(storage: Storage, onStep?: OnKnowledgeStep) {
  return {
    /** Records only: nothing is parsed. The same address twice is two records, unless `once` is asked for. */
    async add(base: BaseRow, caller: Caller, { items, params }: AddDocumentsBody): Promise<DocumentsAdded> {
      assertContentType(params);
      const { rows, added } = await storage.transaction((trx) => addRecords(trx, base, caller, { items, params }));
      onStep?.("add.recorded", base.id);
      return {
        status: "success",
        message: `${added} added; parse them next`,
        added,
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
        const { rows } = await addRecords(trx, base, caller, { items: body.items, params });
        const fileIds = [...new Set(rows.map(({ id }) => id))];
        const { task } = await startTask(storage, trx, {
          kind: KINDS.ingest,
          userId: caller.userId,
          name: `import ${rows.length} into ${base.name}`,
          payload: {
            kb_id: base.id,
            file_ids: fileIds,
            params: { auto_index: auto_index ?? false, ...defined({ chunking }) },
          },
        });
        return {
          message: "queued: the task's end means that every file was visited; each file's status is its own outcome",
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
