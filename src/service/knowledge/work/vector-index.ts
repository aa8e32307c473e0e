import { startTask } from "../../tasks/start-task.ts";
import type { TaskContext } from "../../tasks/define-task.ts";
import type { Queries } from "../../storage/transaction.ts";
import { KINDS } from "../state/task-kinds.ts";
import type { VectorSpace } from "../vectors/vector-query.ts";
import type { KnowledgeWorker } from "./worker-context.ts";

/** Starts the task that makes the approximate index of a knowledge base, once it has vectors enough and none. */
export async function queueVectorIndex({ storage, vectors }: KnowledgeWorker, kbId: string): Promise<void> {
  const { approximate } = vectors;
  if (approximate === undefined) return;
  const counted = await countVectors(storage.db, kbId);
  if (counted === undefined || counted.vectors < approximate.from) return;
  if (!(await approximate.isMissing(storage.db, counted.space))) return;
  await storage.transaction((trx) =>
    startTask(storage, trx, {
      kind: KINDS.vectorIndex,
      key: kbId,
      userId: counted.createdBy,
      name: `index ${counted.vectors} vectors of ${counted.name}`,
      payload: { kb_id: kbId },
    }),
  );
}

/** The work of that task. A knowledge base that was deleted, or has another model by now, needs none. */
export async function makeVectorIndex(
  { storage, vectors }: KnowledgeWorker,
  { payload, progress, signal }: TaskContext<{ kb_id: string }, Record<string, never>>,
): Promise<{ vectors: number }> {
  const counted = await countVectors(storage.db, payload.kb_id);
  if (vectors.approximate === undefined || counted === undefined) return { vectors: 0 };
  await progress(0, `indexing ${counted.vectors} vectors`);
  await vectors.approximate.make(storage, counted.space, signal);
  return { vectors: counted.vectors };
}

interface Counted {
  readonly vectors: number;
  readonly space: VectorSpace;
  readonly name: string;
  readonly createdBy: number;
}

async function countVectors(db: Queries, kbId: string): Promise<Counted | undefined> {
  const base = await db
    .selectFrom("knowledge_base")
    .select(["no", "name", "created_by", "embedding_model_spec", "embedding_dims"])
    .where("id", "=", kbId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (base === undefined || base.embedding_model_spec === null || base.embedding_dims === null) return undefined;
  const { vectors } = await db
    .selectFrom("knowledge_file")
    .select(({ fn }) => fn.sum<number | null>("vector_count").as("vectors"))
    .where("kb_id", "=", kbId)
    .executeTakeFirstOrThrow();
  return {
    vectors: vectors ?? 0,
    space: { kbNo: base.no, model: base.embedding_model_spec, dims: base.embedding_dims },
    name: base.name,
    createdBy: base.created_by,
  };
}
