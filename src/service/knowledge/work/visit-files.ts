import PQueue from "p-queue";
import { z } from "zod";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { TaskContext } from "../../tasks/define-task.ts";
import { TaskTurnOver } from "../../tasks/failures.ts";
import type { FileRow } from "../state/file-view.ts";
import type { PageProgress } from "../parse/parser.ts";
import type { ClaimedWork } from "./parse-file.ts";
import { claimFile, releaseFile, renewLease, type ClaimOwner } from "../state/claims.ts";
import { FILE_WORK, type FileWork } from "../state/states.ts";
import type { KnowledgeFileStatus } from "../../storage/knowledge-tables.ts";
import type { KnowledgeWorker } from "./worker-context.ts";

/** Files that are named in a task's result. */
const MOST_NAMED = 200;
/** Between two notes of progress. */
const NOTE_MS = 500;

export const Checkpoint = z.strictObject({ visited: z.int(), failed: z.int(), claims: z.int() });
export type Checkpoint = z.infer<typeof Checkpoint>;

export const VisitResult = z.strictObject({
  total: z.int(),
  parsed: z.int(),
  indexed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  files: z.array(
    z.strictObject({
      file_id: z.string(),
      filename: z.string(),
      status: z.string(),
      error: z.unknown().optional(),
    }),
  ),
  result_truncated: z.boolean(),
});
export type VisitResult = z.infer<typeof VisitResult>;

/** One kind of work, for each file in its turn. */
export interface Stage {
  readonly work: FileWork;
  /** The states that are taken. */
  readonly from: readonly KnowledgeFileStatus[];
  /** @returns the file as it is now; undefined when the claim was lost */
  readonly run: (claimed: ClaimedWork) => Promise<FileRow | undefined>;
}

export interface Visit {
  readonly kbId: string;
  readonly total: number;
  /** @param whenIdle - resolves once no file that was given is being visited */
  readonly fileIds: (whenIdle: () => Promise<void>) => AsyncIterable<string>;
  readonly stages: readonly Stage[];
}

type Context = Pick<
  TaskContext<unknown, Checkpoint>,
  "taskId" | "attempt" | "checkpoint" | "signal" | "progress" | "isTurnOver" | "transaction"
>;

/**
 * Visits files, several at once: claims each, does the stages, writes the outcome in its row.
 *
 * A file that another task holds, or whose state has moved, is skipped; one that this task has finished in an earlier
 * attempt is counted and not done again. On cancel and shutdown what is claimed goes back to where it came from. Any other
 * fault leaves the claims to the next attempt, so that a file that always ends its worker is put aside in time. Between files
 * the task hands its place over where another user's waits for it.
 */
export async function visitFiles(worker: KnowledgeWorker, context: Context, visit: Visit): Promise<VisitResult> {
  const owner: ClaimOwner = { taskId: context.taskId, attempt: context.attempt };
  const failing = new AbortController();
  const signal = AbortSignal.any([context.signal, failing.signal]);
  const held = new Map<string, FileWork>();
  const result: VisitResult = {
    total: visit.total,
    parsed: 0,
    indexed: 0,
    failed: 0,
    skipped: 0,
    files: [],
    result_truncated: false,
  };
  const notes = createNotes(context, visit.total, result);
  const renewing = setInterval(() => {
    if (held.size === 0) return;
    renewLease(worker.storage.db, [...held.keys()], owner, worker.leaseMs).catch((error: unknown) =>
      worker.logger.warn({ err: error, taskId: owner.taskId }, "leases of files were not renewed"),
    );
  }, worker.leaseMs / 4);

  async function visitOne(fileId: string): Promise<void> {
    let row: FileRow | undefined;
    let isSkipped = false;
    for (const stage of visit.stages) {
      signal.throwIfAborted();
      const claimed = await context.transaction((trx) =>
        claimFile(trx, {
          kbId: visit.kbId,
          fileId,
          work: stage.work,
          from: stage.from,
          owner,
          leaseMs: worker.leaseMs,
        }),
      );
      row = claimed.row;
      if (claimed.outcome === "claimed") row = await work(stage, claimed.row);
      if (claimed.outcome === "skipped" || row === undefined) {
        isSkipped = true;
        break;
      }
      if (row.error !== null) break;
    }
    count(result, visit.stages, fileId, isSkipped ? undefined : row, row?.filename);
    await notes.visited();
  }

  async function work(stage: Stage, row: FileRow): Promise<FileRow | undefined> {
    held.set(row.id, stage.work);
    try {
      await notes.claimed(stage.work, row.filename);
      return await stage.run({
        row,
        owner,
        signal,
        transaction: <T>(fn: (trx: Transaction) => Promise<T>) => context.transaction(fn),
        onPage: (page) => notes.page(stage.work, row.filename, page),
      });
    } catch (error) {
      // Its own fault keeps the claim, and counts as a try; what only stops beside another's does not.
      if (signal.aborted) await releaseFile(worker.storage.db, { fileId: row.id, work: stage.work, owner });
      throw error;
    } finally {
      held.delete(row.id);
    }
  }

  let isBegun = false;
  let isTurnOver = false;
  async function visitInTurn(fileId: string): Promise<void> {
    // Not before the first, or a task that hands over again and again would never get on.
    isTurnOver ||= isBegun && (await context.isTurnOver());
    if (isTurnOver) return;
    isBegun = true;
    await visitOne(fileId);
  }

  const finished = context.attempt > 1 ? await readFinished(worker.storage.db, visit, owner.taskId) : NONE;
  const places = new PQueue({ concurrency: worker.filesAtOnce });
  const faults: unknown[] = [];
  try {
    for await (const fileId of visit.fileIds(() => places.onIdle())) {
      const row = finished.get(fileId);
      if (row !== undefined) {
        count(result, visit.stages, fileId, row, row.filename);
        await notes.visited();
        continue;
      }
      await places.onSizeLessThan(1);
      if (signal.aborted || isTurnOver) break;
      places
        .add(() => visitInTurn(fileId))
        .catch((error: unknown) => {
          faults.push(error);
          failing.abort(error);
        });
    }
  } finally {
    await places.onIdle();
    clearInterval(renewing);
    await notes.close();
  }
  context.signal.throwIfAborted();
  if (faults.length > 0) throw faults[0];
  if (isTurnOver) throw new TaskTurnOver();
  return { ...result, total: notes.visitedFiles() };
}

type Finished = Pick<FileRow, "id" | "filename" | "status" | "error">;

const NONE: ReadonlyMap<string, Finished> = new Map();

/** What earlier attempts of this task have finished, all in one query: each of thousands by itself would take longer than a turn. */
async function readFinished(
  db: Queries,
  { kbId, stages }: Visit,
  taskId: string,
): Promise<ReadonlyMap<string, Finished>> {
  const rows = await db
    .selectFrom("knowledge_file")
    .select(["id", "filename", "status", "error", "parsed_by", "indexed_by"])
    .where("kb_id", "=", kbId)
    .where("claim_task", "is", null)
    .where((where) => where.or([where("parsed_by", "=", taskId), where("indexed_by", "=", taskId)]))
    .execute();
  const isFinished = (row: (typeof rows)[number]): boolean => {
    const next = stages.find(({ work }) => row[FILE_WORK[work].by] !== taskId || row.error !== null);
    return next === undefined || row[FILE_WORK[next.work].by] === taskId;
  };
  return new Map(rows.filter(isFinished).map((row) => [row.id, row]));
}

function count(
  result: VisitResult,
  stages: readonly Stage[],
  fileId: string,
  row: Finished | undefined,
  filename: string | undefined,
): void {
  if (row === undefined) result.skipped += 1;
  else if (row.error !== null) result.failed += 1;
  else {
    if (stages.some(({ work }) => work === "parse")) result.parsed += 1;
    if (stages.some(({ work }) => work === "index") && row.status === "indexed") result.indexed += 1;
  }
  if (result.files.length >= MOST_NAMED) {
    result.result_truncated = true;
    return;
  }
  result.files.push({
    file_id: fileId,
    filename: filename ?? "",
    status: row?.status ?? "skipped",
    ...(row === undefined || row.error === null ? {} : { error: row.error }),
  });
}

/** Writes progress, at most twice a second but for the first claim. */
function createNotes(context: Context, total: number, result: VisitResult) {
  let claims = context.checkpoint?.claims ?? 0;
  let visited = 0;
  let message = "";
  let notedAt = -Infinity;
  let writing: Promise<void> | undefined;
  let later: NodeJS.Timeout | undefined;

  /** What is noted too soon after the last is written when its time comes: a file may be long at its first page. */
  async function note(): Promise<void> {
    const waitMs = notedAt + NOTE_MS - performance.now();
    if (writing !== undefined || waitMs > 0) {
      later ??= setTimeout(
        () => {
          later = undefined;
          noteBeside();
        },
        Math.max(waitMs, NOTE_MS / 10),
      );
      return writing;
    }
    clearTimeout(later);
    later = undefined;
    notedAt = performance.now();
    // Files may come while it works; only the end is 100.
    const percent = Math.min(99, (100 * visited) / Math.max(1, total));
    writing = context
      .progress(percent, message, { visited, failed: result.failed, claims })
      .finally(() => (writing = undefined));
    return writing;
  }

  function noteBeside(): void {
    // A worker that lost the task finds that out at its next claim or write of a file.
    note().catch(() => undefined);
  }

  const at = (work: FileWork, filename: string): string =>
    `${work === "parse" ? "parsing" : "indexing"} ${visited + 1} of ${Math.max(total, visited + 1)}: ${filename}`;

  return {
    async claimed(work: FileWork, filename: string): Promise<void> {
      claims += 1;
      message = at(work, filename);
      await note();
    },
    page(work: FileWork, filename: string, { page, pages }: PageProgress): void {
      const of = pages === null ? "" : ` of ${pages}`;
      message = `${at(work, filename)}, page ${page}${of}`;
      noteBeside();
    },
    async visited(): Promise<void> {
      visited += 1;
      await note();
    },
    visitedFiles: (): number => visited,
    async close(): Promise<void> {
      clearTimeout(later);
      await writing?.catch(() => undefined);
    },
  };
}
