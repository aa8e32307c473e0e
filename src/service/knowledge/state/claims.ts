import { sql, type RawBuilder, type UpdateObject } from "kysely";
import type { KnowledgeFileError, KnowledgeFileStatus as Status } from "../../storage/knowledge-tables.ts";
import { json, storableText } from "../../storage/storable.ts";
import type { Database } from "../../storage/tables.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { FileRow } from "./file-view.ts";
import { MOST_TRIES, FILE_WORK, type FileWork } from "./states.ts";

// The only writer of `knowledge_file.status`. Every transition is one compare-and-set on state and claim; an owner whose
// write changes no row stops without an error. Law: one owner or none.

/** The owner of a claim: the attempt of a task. */
export interface ClaimOwner {
  readonly taskId: string;
  readonly attempt: number;
}

/** What became of a try to claim. */
export type ClaimResult =
  | { readonly outcome: "claimed"; readonly row: FileRow }
  /** This task has finished this work on it before. */
  | { readonly outcome: "finished"; readonly row: FileRow }
  /** Put aside as `attempts_exhausted`. */
  | { readonly outcome: "exhausted"; readonly row: FileRow }
  /** Held by another task, in a state that is not taken, or gone. */
  | { readonly outcome: "skipped"; readonly row: FileRow | undefined };

const NO_CLAIM = {
  claim_task: null,
  claim_attempt: null,
  lease_until: null,
  came_from: null,
  came_error: null,
} as const;

const EXHAUSTED: KnowledgeFileError = {
  code: "attempts_exhausted",
  message: `${MOST_TRIES} attempts in a row ended without a result`,
  retryable: true,
};

/**
 * Claims a file for a kind of work, or takes over the claim of an earlier attempt of the same task.
 *
 * @param from - the states that are taken
 */
export async function claimFile(
  trx: Transaction,
  claim: {
    readonly kbId: string;
    readonly fileId: string;
    readonly work: FileWork;
    readonly from: readonly Status[];
    readonly owner: ClaimOwner;
    readonly leaseMs: number;
  },
): Promise<ClaimResult> {
  const { work, owner } = claim;
  const row = await trx
    .selectFrom("knowledge_file")
    .selectAll()
    .where("id", "=", claim.fileId)
    .where("kb_id", "=", claim.kbId)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) return { outcome: "skipped", row };
  const { during, failed, by } = FILE_WORK[work];
  const isTakenOver =
    row.status === during && row.claim_task === owner.taskId && (row.claim_attempt ?? 0) < owner.attempt;
  if (!isTakenOver) {
    if (row[by] === owner.taskId) return { outcome: "finished", row };
    if (row.claim_task !== null || !claim.from.includes(row.status)) return { outcome: "skipped", row };
  }
  if (row.tries >= MOST_TRIES) {
    return { outcome: "exhausted", row: await write(trx, row.id, failureOf(failed, EXHAUSTED, by, owner.taskId)) };
  }
  const claimed = await write(trx, row.id, {
    status: during,
    claim_task: owner.taskId,
    claim_attempt: owner.attempt,
    lease_until: leaseEnd(claim.leaseMs),
    tries: row.tries + 1,
    error: null,
    // An index that is begun may be left half done.
    ...(work === "index" ? { has_stale_chunks: true } : {}),
    ...(isTakenOver
      ? {}
      : { came_from: row.status, came_error: row.error === null ? null : json<KnowledgeFileError>(row.error) }),
  });
  return { outcome: "claimed", row: claimed };
}

/** What a finished parse leaves. */
export interface ParsedFile {
  readonly markdownKey: string;
  readonly markdownBytes: number;
  readonly lines: number;
  readonly pages: number | null;
  readonly parser: string;
  readonly warnings: readonly string[];
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * `parsing` → `parsed`. Chunks of an earlier parse are invisible from now on; the sweep deletes them.
 *
 * @returns undefined when the claim is no longer its owner's
 */
export async function finishParse(
  db: Queries | Transaction,
  fileId: string,
  owner: ClaimOwner,
  parsed: ParsedFile,
): Promise<FileRow | undefined> {
  return finish(
    db,
    { fileId, work: "parse", owner },
    {
      status: FILE_WORK.parse.done,
      markdown_key: parsed.markdownKey,
      markdown_bytes: parsed.markdownBytes,
      lines: parsed.lines,
      pages: parsed.pages,
      parser: parsed.parser,
      warnings: json(parsed.warnings.map(storableText)),
      params: json({ ...parsed.params }),
      chunk_count: 0,
      token_count: 0,
      term_count: 0,
      vector_count: 0,
      has_stale_chunks: sql<boolean>`has_stale_chunks or chunk_count > 0`,
      parsed_by: owner.taskId,
      indexed_by: null,
    },
  );
}

/** What a finished index holds, counted in the database. */
export interface IndexedFile {
  readonly generation: number;
  readonly chunks: number;
  readonly estimatedTokens: number;
  readonly terms: number;
  readonly vectors: number;
  /** Chunks of an older generation are there still. */
  readonly hasOldChunks: boolean;
  readonly warnings: readonly string[];
}

/**
 * `indexing` → `indexed`: the new generation replaces the old one in this statement.
 *
 * @returns undefined when the claim is no longer its owner's
 */
export async function finishIndex(
  trx: Transaction,
  fileId: string,
  owner: ClaimOwner,
  indexed: IndexedFile,
): Promise<FileRow | undefined> {
  return finish(
    trx,
    { fileId, work: "index", owner },
    {
      status: FILE_WORK.index.done,
      generation: indexed.generation,
      chunk_count: indexed.chunks,
      token_count: indexed.estimatedTokens,
      term_count: indexed.terms,
      vector_count: indexed.vectors,
      warnings: sql`(select coalesce(jsonb_agg(distinct warning), '[]'::jsonb)
        from jsonb_array_elements(warnings || ${JSON.stringify(indexed.warnings.map(storableText))}::jsonb) warning)`,
      has_stale_chunks: indexed.hasOldChunks,
      indexed_by: owner.taskId,
    },
  );
}

/** `parsing` → `error_parsing`, `indexing` → `error_indexing`. @returns undefined when the claim is no longer its owner's */
export async function failFile(
  db: Queries | Transaction,
  claim: { readonly fileId: string; readonly work: FileWork; readonly owner: ClaimOwner },
  error: KnowledgeFileError,
): Promise<FileRow | undefined> {
  const { failed, by } = FILE_WORK[claim.work];
  return finish(db, claim, failureOf(failed, error, by, claim.owner.taskId));
}

/** Back to where it came from, as if it had not been claimed: cancel, shutdown. Whether the claim was still its owner's. */
export async function releaseFile(
  db: Queries,
  { fileId, work, owner }: { readonly fileId: string; readonly work: FileWork; readonly owner: ClaimOwner },
): Promise<boolean> {
  const { rows } = await sql`
    update knowledge_file set ${backWhereItCameFrom()}, tries = greatest(tries - 1, 0)
    where id = ${fileId} and status = ${FILE_WORK[work].during} and claim_task = ${owner.taskId}::uuid
      and claim_attempt = ${owner.attempt}::int
    returning id`.execute(db);
  return rows.length > 0;
}

/** Keeps a claim. Whether it was still its owner's. */
export async function renewLease(
  db: Queries,
  fileIds: readonly string[],
  owner: ClaimOwner,
  leaseMs: number,
): Promise<void> {
  await db
    .updateTable("knowledge_file")
    .set({ lease_until: leaseEnd(leaseMs) })
    .where("id", "in", [...fileIds])
    .where("claim_task", "=", owner.taskId)
    .where("claim_attempt", "=", owner.attempt)
    .execute();
}

/** Whether a claim is still its owner's; holds the file for the rest of the transaction. */
export async function holdClaim(trx: Transaction, fileId: string, owner: ClaimOwner): Promise<boolean> {
  const row = await trx
    .selectFrom("knowledge_file")
    .select("id")
    .where("id", "=", fileId)
    .where("claim_task", "=", owner.taskId)
    .where("claim_attempt", "=", owner.attempt)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Takes files back from owners that are gone: the lease is past, and the task has ended or is another attempt's.
 *
 * @returns how many went back, and how many were put aside
 */
export async function sweepClaims(db: Queries): Promise<{ released: number; exhausted: number }> {
  const isAbandoned = sql`lease_until < now() and not exists (
    select from task t
    where t.id = claim_task and t.status in ('pending', 'running') and t.attempt = claim_attempt)`;
  const exhausted = await sql`
    update knowledge_file set
      status = case status when 'parsing' then 'error_parsing' else 'error_indexing' end,
      parsed_by = case status when 'parsing' then claim_task else parsed_by end,
      indexed_by = case status when 'indexing' then claim_task else indexed_by end,
      error = ${JSON.stringify(EXHAUSTED)}::jsonb, tries = 0, claim_task = null, claim_attempt = null,
      lease_until = null, came_from = null, came_error = null, updated_at = now()
    where ${isAbandoned} and tries >= ${MOST_TRIES}::int
    returning id`.execute(db);
  const released = await sql`
    update knowledge_file set ${backWhereItCameFrom()} where ${isAbandoned} returning id`.execute(db);
  return { released: released.rows.length, exhausted: exhausted.rows.length };
}

function backWhereItCameFrom(): RawBuilder<unknown> {
  return sql`status = came_from, error = came_error, claim_task = null, claim_attempt = null, lease_until = null,
    came_from = null, came_error = null, updated_at = now()`;
}

function leaseEnd(leaseMs: number): RawBuilder<Date> {
  return sql<Date>`now() + make_interval(secs => ${leaseMs / 1_000}::float8)`;
}

function failureOf(
  status: "error_parsing" | "error_indexing",
  error: KnowledgeFileError,
  by: "parsed_by" | "indexed_by",
  taskId: string,
): Change {
  const message = storableText(error.message.slice(0, 500));
  return { ...NO_CLAIM, status, error: json<KnowledgeFileError>({ ...error, message }), tries: 0, [by]: taskId };
}

type Change = UpdateObject<Database, "knowledge_file">;

async function write(trx: Transaction, id: string, change: Change): Promise<FileRow> {
  return trx
    .updateTable("knowledge_file")
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function finish(
  db: Queries | Transaction,
  { fileId, work, owner }: { readonly fileId: string; readonly work: FileWork; readonly owner: ClaimOwner },
  change: Change,
): Promise<FileRow | undefined> {
  return db
    .updateTable("knowledge_file")
    .set({ ...NO_CLAIM, error: null, tries: 0, ...change, updated_at: sql<Date>`now()` })
    .where("id", "=", fileId)
    .where("status", "=", FILE_WORK[work].during)
    .where("claim_task", "=", owner.taskId)
    .where("claim_attempt", "=", owner.attempt)
    .returningAll()
    .executeTakeFirst();
}
