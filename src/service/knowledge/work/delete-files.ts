import type { Logger } from "pino";
import type { Objects } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { startTask } from "../../tasks/start-task.ts";
import type { Caller } from "../../auth/caller.ts";
import { holdBase, type BaseRow } from "../state/access.ts";
import { deleteChunks } from "../state/partitions.ts";
import { KINDS } from "../state/task-kinds.ts";
import type { OnKnowledgeStep } from "../state/steps.ts";

export interface DeletionOptions {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly logger: Logger;
  readonly onStep?: OnKnowledgeStep | undefined;
}

/** Chunks that are deleted with their records; more are left to a task, invisible meanwhile. */
const CHUNKS_AT_ONCE = 2_000;

/**
 * Deletes file records: a running owner's writes change no row from then on.
 *
 * @returns the ids that were there
 */
export async function deleteFiles(
  { storage, objects, logger, onStep }: DeletionOptions,
  base: BaseRow,
  caller: Caller,
  ids: readonly string[],
): Promise<string[]> {
  const { deleted, unnamed } = await storage.transaction(async (trx) => {
    await holdBase(trx, base.id);
    const rows = await trx
      .deleteFrom("knowledge_file")
      .where("kb_id", "=", base.id)
      .where("id", "in", [...ids])
      .returning(["id", "object_key", "markdown_key", "chunk_count"])
      .execute();
    const fileIds = rows.map(({ id }) => id);
    if (rows.reduce((sum, row) => sum + row.chunk_count, 0) <= CHUNKS_AT_ONCE) {
      if (fileIds.length > 0) await deleteChunks(trx, base.no, { fileIds });
    } else {
      await startTask(storage, trx, {
        kind: KINDS.delete,
        userId: caller.userId,
        name: `delete the chunks of ${fileIds.length} files of ${base.name}`,
        payload: { kb_id: base.id, file_ids: fileIds },
      });
    }
    const keys = rows.flatMap((row) => [row.object_key, ...(row.markdown_key === null ? [] : [row.markdown_key])]);
    return { deleted: fileIds, unnamed: await findUnnamed(trx, keys) };
  });
  onStep?.("delete.records", base.id);
  for (const key of unnamed) {
    // What is not deleted here, the sweep deletes.
    await objects.delete(key).catch((error: unknown) => logger.warn({ err: error, key }, "an object was not deleted"));
  }
  return deleted;
}

/** Those of some objects that no row names. */
export async function findUnnamed(trx: Transaction, keys: readonly string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  const unique = [...new Set(keys)];
  const rows = await trx
    .selectFrom("knowledge_file")
    .select("object_key as key")
    .where("object_key", "in", unique)
    .union(
      trx
        .selectFrom("knowledge_file")
        .select("markdown_key as key")
        .where("markdown_key", "in", unique)
        .$castTo<{ key: string }>(),
    )
    .union(trx.selectFrom("knowledge_upload").select("object_key as key").where("object_key", "in", unique))
    .execute();
  const named = new Set(rows.map(({ key }) => key));
  return unique.filter((key) => !named.has(key));
}
