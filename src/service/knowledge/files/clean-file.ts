import type { Storage } from "../../storage/storage.ts";
import { deleteChunks } from "../state/partitions.ts";

/** Chunks of one transaction, so that no other statement waits behind a large file. */
const AT_ONCE = 1_000;

/** Deletes the chunks of a file that are not of its live generation, unless it is being indexed. Safe to repeat. */
export async function cleanFile(storage: Storage, kbNo: number, fileId: string): Promise<void> {
  for (;;) {
    const isClean = await storage.transaction(async (trx) => {
      const file = await trx
        .selectFrom("knowledge_file")
        .select(["generation", "chunk_count"])
        .where("id", "=", fileId)
        .where("has_stale_chunks", "=", true)
        .where("status", "<>", "indexing")
        .forUpdate()
        .executeTakeFirst();
      if (file === undefined) return true;
      const keep = file.chunk_count > 0 ? file.generation : undefined;
      const deleted = await deleteChunks(trx, kbNo, { fileIds: [fileId], keep, limit: AT_ONCE });
      if (deleted === AT_ONCE) return false;
      await trx.updateTable("knowledge_file").set({ has_stale_chunks: false }).where("id", "=", fileId).execute();
      return true;
    });
    if (isClean) return;
  }
}
