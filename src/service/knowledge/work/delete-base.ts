import type { TaskContext } from "../../tasks/define-task.ts";
import { TaskTurnOver } from "../../tasks/failures.ts";
import { deleteChunks, dropPartitions } from "../state/partitions.ts";
import type { DeletePayload } from "../state/task-kinds.ts";
import type { KnowledgeWorker } from "./worker-context.ts";

const FILES_AT_ONCE = 200;
const CHUNKS_AT_ONCE = 1_000;

interface Deleted {
  files: number;
}

type Context = TaskContext<DeletePayload, Deleted>;

/**
 * Empties a knowledge base that has been deleted: chunks and vectors at once, then objects, then the records that name them.
 * No request reads it any more, so that nothing is lost when it is interrupted and goes on.
 */
export async function deleteBase({ storage, objects, onStep }: KnowledgeWorker, context: Context): Promise<Deleted> {
  const { kb_id: kbId } = context.payload;
  const base = await storage.db
    .selectFrom("knowledge_base")
    .select(["no", "deleted_at"])
    .where("id", "=", kbId)
    .executeTakeFirst();
  if (base === undefined || base.deleted_at === null) return { files: 0 };
  await context.transaction((trx) => dropPartitions(trx, base.no));
  let files = context.checkpoint?.files ?? 0;
  for (;;) {
    context.signal.throwIfAborted();
    const rows = await storage.db
      .selectFrom("knowledge_file")
      .select(["id", "object_key", "markdown_key"])
      .where("kb_id", "=", kbId)
      .limit(FILES_AT_ONCE)
      .execute();
    if (rows.length === 0) break;
    for (const { object_key, markdown_key } of rows) {
      await objects.delete(object_key);
      if (markdown_key !== null) await objects.delete(markdown_key);
    }
    onStep?.("delete.objects", kbId);
    await context.transaction(async (trx) => {
      await trx
        .deleteFrom("knowledge_file")
        .where(
          "id",
          "in",
          rows.map(({ id }) => id),
        )
        .execute();
    });
    onStep?.("delete.rows", kbId);
    files += rows.length;
    await context.progress(0, `${files} files deleted`, { files });
    if (await context.isTurnOver()) throw new TaskTurnOver();
  }
  const uploads = await storage.db
    .selectFrom("knowledge_upload")
    .select("object_key")
    .where("kb_id", "=", kbId)
    .execute();
  for (const { object_key: key } of uploads) await objects.delete(key);
  await context.transaction(async (trx) => {
    await trx.deleteFrom("knowledge_upload").where("kb_id", "=", kbId).execute();
  });
  return { files };
}

/** Deletes the chunks of files whose records are gone. */
export async function deleteChunksOf(
  { storage }: KnowledgeWorker,
  context: Context,
  fileIds: readonly string[],
): Promise<Deleted> {
  const base = await storage.db
    .selectFrom("knowledge_base")
    .select("no")
    .where("id", "=", context.payload.kb_id)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  // Its partition is dropped, or will be.
  if (base === undefined) return { files: 0 };
  let chunks = 0;
  for (;;) {
    context.signal.throwIfAborted();
    const deleted = await context.transaction((trx) => deleteChunks(trx, base.no, { fileIds, limit: CHUNKS_AT_ONCE }));
    if (deleted === 0) return { files: fileIds.length };
    chunks += deleted;
    await context.progress(0, `${chunks} chunks deleted`, { files: chunks });
    if (await context.isTurnOver()) throw new TaskTurnOver();
  }
}
