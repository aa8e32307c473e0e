import { sql } from "kysely";
import type { Logger } from "pino";
import type { Objects } from "../storage/objects.ts";
import type { Storage } from "../storage/storage.ts";
import { cleanFile } from "./files/clean-file.ts";
import { findUnnamed } from "./work/delete-files.ts";
import { sweepClaims } from "./state/claims.ts";

export interface KnowledgeSweep {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly logger: Logger;
  /** An object that no row names is an upload under way until it is so old. */
  readonly orphanMs?: number;
  /** Corrects the statistics of words; absent where the database does so itself. */
  readonly tidyWords?: (() => Promise<void>) | undefined;
}

const DAY_MS = 86_400_000;
/** Between two looks at all objects: a look lists them all. */
const OBJECTS_EVERY = "1 hour";
const FILES_AT_ONCE = 100;
const KEYS_AT_ONCE = 500;

/** Takes files back from owners that are gone, and deletes what nothing names any more. */
export async function sweepKnowledge(sweep: KnowledgeSweep): Promise<void> {
  const { storage, logger } = sweep;
  const { released, exhausted } = await sweepClaims(storage.db);
  if (released + exhausted > 0) logger.warn({ released, exhausted }, "files of lost workers were taken back");
  await deleteStaleChunks(storage);
  await sweep.tidyWords?.();
  await storage.db
    .deleteFrom("knowledge_upload")
    .where("expires_at", "<", sql<Date>`now()`)
    .execute();
  if (await isTimeForObjects(storage)) await deleteOrphans(sweep);
}

async function deleteStaleChunks(storage: Storage): Promise<void> {
  const stale = await storage.db
    .selectFrom("knowledge_file")
    .innerJoin("knowledge_base", "knowledge_base.id", "knowledge_file.kb_id")
    .select(["knowledge_file.id", "knowledge_base.no"])
    .where("knowledge_file.has_stale_chunks", "=", true)
    .where("knowledge_file.status", "<>", "indexing")
    .where("knowledge_base.deleted_at", "is", null)
    .limit(FILES_AT_ONCE)
    .execute();
  for (const { id, no } of stale) await cleanFile(storage, no, id);
}

/** Once an hour in the whole cluster. */
async function isTimeForObjects(storage: Storage): Promise<boolean> {
  const { rows } = await sql`
    insert into instance (key, value) values ('knowledge:objects_swept', 'true'::jsonb)
    on conflict (key) do update set updated_at = now()
      where instance.updated_at < now() - ${sql.lit(OBJECTS_EVERY)}::interval
    returning key`.execute(storage.db);
  return rows.length > 0;
}

/** Deletes objects that no row names and that are older than any upload under way. @returns how many */
export async function deleteOrphans({ storage, objects, logger, orphanMs = DAY_MS }: KnowledgeSweep): Promise<number> {
  const before = Date.now() - orphanMs;
  let deleted = 0;
  const deleteThose = async (keys: readonly string[]): Promise<void> => {
    for (const key of await storage.transaction((trx) => findUnnamed(trx, keys))) {
      await objects.delete(key);
      deleted += 1;
    }
  };
  let keys: string[] = [];
  for await (const { key, modifiedAt } of objects.list()) {
    if (modifiedAt.getTime() > before) continue;
    keys.push(key);
    if (keys.length < KEYS_AT_ONCE) continue;
    await deleteThose(keys);
    keys = [];
  }
  await deleteThose(keys);
  await objects.deleteUnfinished(new Date(before));
  if (deleted > 0) logger.info({ deleted }, "objects that no row names were deleted");
  return deleted;
}
