import { createReadStream } from "node:fs";
import type { ParseParams } from "../../protocol/knowledge-files.ts";
import { ObjectMissing } from "../../storage/objects.ts";
import type { Transaction } from "../../storage/transaction.ts";
import type { FileRow } from "../state/file-view.ts";
import { failFile, finishParse, type ClaimOwner } from "../state/claims.ts";
import type { KnowledgeWorker } from "./worker-context.ts";
import { ParseFailed } from "../parse/failures.ts";
import type { Parsed, PageProgress } from "../parse/parser.ts";

/** One file that is claimed, and what works on it. */
export interface ClaimedWork {
  readonly row: FileRow;
  readonly owner: ClaimOwner;
  readonly signal: AbortSignal;
  /** Fails when the task is another attempt's. */
  readonly transaction: <T>(fn: (trx: Transaction) => Promise<T>) => Promise<T>;
  readonly onPage: (progress: PageProgress) => void;
}

/**
 * Parses one claimed file: child, Markdown, finish.
 *
 * @returns the file as it is now; undefined when the claim was lost, and then nothing is left behind
 * @throws the signal's reason, and every fault that does not come from the file itself
 */
export async function parseFile(
  worker: KnowledgeWorker,
  work: ClaimedWork,
  params: ParseParams,
): Promise<FileRow | undefined> {
  const { row, owner, signal } = work;
  worker.onStep?.("parse.claimed", row.id);
  try {
    const parsed = await read(worker, work, params);
    try {
      worker.onStep?.("parse.parsed", row.id);
      return await keep(worker, work, parsed, params);
    } finally {
      await parsed.release();
    }
  } catch (error) {
    signal.throwIfAborted();
    const failure = describeFailure(error);
    if (failure === undefined) throw error;
    return work.transaction((trx) => failFile(trx, { fileId: row.id, work: "parse", owner }, failure));
  }
}

async function read(
  worker: KnowledgeWorker,
  { row, signal, onPage }: ClaimedWork,
  params: ParseParams,
): Promise<Parsed> {
  const source = await worker.objects.get(row.object_key);
  try {
    return await worker.parser.parse(
      {
        source,
        filename: row.filename,
        ocr: params.ocr ?? "auto",
        languages: params.languages?.split("+") ?? [],
      },
      onPage,
      signal,
    );
  } finally {
    source.destroy();
  }
}

/** The object before the row that names it; one that no row names in the end is deleted at once, or by the sweep. */
async function keep(
  { objects, logger, outputBytes, onStep }: KnowledgeWorker,
  { row, owner, transaction }: ClaimedWork,
  parsed: Parsed,
  params: ParseParams,
): Promise<FileRow | undefined> {
  const markdown = await objects.put(createReadStream(parsed.markdownPath), outputBytes);
  const deleteQuietly = (key: string): Promise<void> =>
    objects.delete(key).catch((error: unknown) => logger.warn({ err: error, key }, "an object was not deleted"));
  onStep?.("parse.stored", row.id);
  try {
    const finished = await transaction((trx) =>
      finishParse(trx, row.id, owner, {
        markdownKey: markdown.key,
        markdownBytes: markdown.bytes,
        lines: parsed.lines,
        pages: parsed.pages,
        parser: parsed.parser,
        warnings: parsed.warnings,
        params: { ...params },
      }),
    );
    if (finished === undefined) await deleteQuietly(markdown.key);
    else if (row.markdown_key !== null) await deleteQuietly(row.markdown_key);
    onStep?.("parse.finished", row.id);
    return finished;
  } catch (error) {
    await deleteQuietly(markdown.key);
    throw error;
  }
}

/** What a fault means for the file; undefined when it does not come from the file: another attempt may succeed. */
function describeFailure(error: unknown) {
  if (error instanceof ParseFailed) return { code: error.code, message: error.message, retryable: error.isRetryable };
  if (error instanceof ObjectMissing)
    return { code: "object_missing", message: "the original is not in the object store", retryable: false };
  return undefined;
}
