import { z } from "zod";
import type { Queries } from "../../storage/transaction.ts";
import { defineTask, type AnyTaskKind } from "../../tasks/define-task.ts";
import { TaskFailure } from "../../tasks/failures.ts";
import { findBase, type BaseRow } from "../state/access.ts";
import { deleteBase, deleteChunksOf } from "./delete-base.ts";
import { indexFile } from "./index-file.ts";
import { parseFile } from "./parse-file.ts";
import { statesOf, FILE_WORK, type FileWork } from "../state/states.ts";
import { KINDS, type IndexPayload, type ParsePayload } from "../state/task-kinds.ts";
import { Checkpoint, visitFiles, VisitResult, type Stage, type Visit } from "./visit-files.ts";
import { makeVectorIndex, queueVectorIndex } from "./vector-index.ts";
import type { KnowledgeWorker } from "./worker-context.ts";

/** Tasks of a kind at once in one process; files at once are bounded besides. */
const AT_ONCE = 3;
/** Of one attempt: a large folder may take hours, and each file has a bound of its own. */
const ATTEMPT_MS = 24 * 3_600_000;
const IDS_AT_ONCE = 500;
/** What another embedding model has to read again. */
const INDEXED_BEFORE: Stage["from"] = ["indexed", "error_indexing"];

/** The handlers of background work on knowledge bases. */
export function createKnowledgeTasks(worker: KnowledgeWorker): readonly AnyTaskKind[] {
  const { storage } = worker;
  const common = { result: VisitResult, checkpoint: Checkpoint, concurrency: AT_ONCE, timeoutMs: ATTEMPT_MS };

  const parseStage = (params: ParsePayload["params"], from: Stage["from"]): Stage => ({
    work: "parse",
    from,
    run: (claimed) => parseFile(worker, claimed, params),
  });
  const indexStage = (base: BaseRow, chunking: IndexPayload["params"]["chunking"], from: Stage["from"]): Stage => ({
    work: "index",
    from,
    run: (claimed) => indexFile(worker, claimed, base, chunking),
  });

  const ingest = defineTask({
    ...KINDS.ingest,
    ...common,
    async run(context) {
      const { kb_id: kbId, file_ids: fileIds, params } = context.payload;
      const base = await baseOfTask(storage.db, kbId);
      const result = await visitFiles(worker, context, {
        kbId,
        total: fileIds.length,
        fileIds: () => each(fileIds),
        stages: [
          parseStage({}, statesOf("parse", {})),
          ...(params.auto_index === true ? [indexStage(base, params.chunking, statesOf("index", {}))] : []),
        ],
      });
      await queueVectorIndex(worker, kbId);
      return result;
    },
  });

  const parse = defineTask({
    ...KINDS.parse,
    ...common,
    async run(context) {
      const { payload } = context;
      const isPending = payload.pending === true;
      const states = statesOf("parse", {
        pending: isPending,
        includeFailed: payload.include_failed === true,
        force: payload.params.force === true,
      });
      await baseOfTask(storage.db, payload.kb_id);
      const files = await selectFiles(storage.db, context.taskId, "parse", states, payload);
      return visitFiles(worker, context, {
        kbId: payload.kb_id,
        ...files,
        stages: [parseStage(payload.params, states)],
      });
    },
  });

  const index = defineTask({
    ...KINDS.index,
    ...common,
    async run(context) {
      const { payload } = context;
      const states = payload.all === true ? INDEXED_BEFORE : statesOf("index", { pending: payload.pending === true });
      const base = await baseOfTask(storage.db, payload.kb_id);
      const files = await selectFiles(storage.db, context.taskId, "index", states, payload);
      const result = await visitFiles(worker, context, {
        kbId: payload.kb_id,
        ...files,
        stages: [indexStage(base, payload.params.chunking, states)],
      });
      await queueVectorIndex(worker, payload.kb_id);
      return result;
    },
  });

  const remove = defineTask({
    ...KINDS.delete,
    result: z.strictObject({ files: z.int() }),
    checkpoint: z.strictObject({ files: z.int() }),
    concurrency: AT_ONCE,
    timeoutMs: ATTEMPT_MS,
    run: (context) =>
      context.payload.file_ids === undefined
        ? deleteBase(worker, context)
        : deleteChunksOf(worker, context, context.payload.file_ids),
  });

  const vectorIndex = defineTask({
    ...KINDS.vectorIndex,
    result: z.strictObject({ vectors: z.int() }),
    checkpoint: z.strictObject({}),
    concurrency: 1,
    timeoutMs: ATTEMPT_MS,
    run: (context) => makeVectorIndex(worker, context),
  });

  return [ingest, parse, index, remove, vectorIndex];
}

/** @throws {TaskFailure} kb_deleted */
async function baseOfTask(db: Queries, kbId: string): Promise<BaseRow> {
  const base = await findBase(db, kbId);
  if (base === undefined) throw new TaskFailure("kb_deleted", "the knowledge base was deleted");
  return base;
}

/** The files that a task names, or those in its states and those it has finished before. */
async function selectFiles(
  db: Queries,
  taskId: string,
  work: FileWork,
  states: Stage["from"],
  payload: { kb_id: string; file_ids?: readonly string[] | undefined },
): Promise<Pick<Visit, "total" | "fileIds">> {
  const { kb_id: kbId, file_ids: named } = payload;
  if (named !== undefined) return { total: named.length, fileIds: () => each(named) };
  const { by, during } = FILE_WORK[work];
  const query = db
    .selectFrom("knowledge_file")
    .where("kb_id", "=", kbId)
    .where((where) =>
      where.or([
        where("status", "in", [...states]),
        where(by, "=", taskId),
        where.and([where("status", "=", during), where("claim_task", "=", taskId)]),
      ]),
    );
  const { total } = await query.select(({ fn }) => fn.countAll<number>().as("total")).executeTakeFirstOrThrow();
  async function* pages(seen: Set<string>): AsyncGenerator<string> {
    let after = "";
    for (;;) {
      const rows = await query.select("id").where("id", ">", after).orderBy("id").limit(IDS_AT_ONCE).execute();
      for (const { id } of rows) {
        if (!seen.has(id)) yield id;
        seen.add(id);
      }
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.id;
    }
  }
  /** Looks again once all are done: a caller that joined meanwhile got the answer that this task takes what they added. */
  async function* untilNoneIsNew(whenIdle: () => Promise<void>): AsyncGenerator<string> {
    const seen = new Set<string>();
    for (let before = -1; seen.size > before; await whenIdle()) {
      before = seen.size;
      yield* pages(seen);
    }
  }
  return { total, fileIds: untilNoneIsNew };
}

async function* each(ids: readonly string[]): AsyncGenerator<string> {
  for (const id of ids) yield id;
}
