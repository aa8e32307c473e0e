import type { Storage } from "../storage/storage.ts";

/** Up to what the embedded engine is supported, as measured. Source: docs/knowledge.md, scale. */
const SUPPORTED = { chunks: 100_000, vectors: 50_000, bases: 1_000 } as const;
/** From this part of it on it is reported. */
const REPORTED_FROM = 0.8;

/** How much there is, where PGlite nears its supported size; undefined: no need to know, or another engine. */
export async function warnOfScale({ engine, db }: Storage): Promise<string | undefined> {
  if (engine !== "pglite") return undefined;
  const files = await db
    .selectFrom("knowledge_file")
    .select(({ fn, lit }) => [
      fn.coalesce(fn.sum<number>("chunk_count"), lit(0)).as("chunks"),
      fn.coalesce(fn.sum<number>("vector_count"), lit(0)).as("vectors"),
    ])
    .executeTakeFirstOrThrow();
  const live = await db
    .selectFrom("knowledge_base")
    .select(({ fn }) => fn.countAll<number>().as("bases"))
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  const counted = { ...files, ...live };
  const near = (["chunks", "vectors", "bases"] as const).filter(
    (what) => counted[what] >= REPORTED_FROM * SUPPORTED[what],
  );
  if (near.length === 0) return undefined;
  const named = near.map((what) => `${counted[what]} of ${SUPPORTED[what]} ${what}`).join(", ");
  return `the embedded database has ${named} that it supports: beyond, set DATABASE_URL`;
}
