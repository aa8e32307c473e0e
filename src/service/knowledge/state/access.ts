import type { Selectable } from "kysely";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import { assertMayAny, may, PERMISSIONS } from "../../auth/permissions.ts";
import type { KnowledgeBaseTable } from "../../storage/knowledge-tables.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";

export type BaseRow = Selectable<KnowledgeBaseTable>;

const NEEDS = { read: PERMISSIONS.readBase, manage: PERMISSIONS.manageBase, upload: PERMISSIONS.addToBase };

/** What an operation needs of its caller. */
export type Need = keyof typeof NEEDS;

/**
 * Finds a knowledge base for a caller, before anything of the request's body is looked at.
 *
 * @param operation - named where it needs documents of ours: refused for a knowledge base whose content is elsewhere
 * @throws {ApiProblem} kb_not_found, manage_required, role_required, retrieval_only: in this order
 */
export async function openBase(
  db: Queries,
  caller: Caller,
  kbId: string,
  { need, operation }: { need: Need; operation?: string | undefined },
): Promise<BaseRow> {
  const base = await findBase(db, kbId);
  if (base === undefined || !may(caller, PERMISSIONS.readBase, base)) throw notFound(kbId);
  if (need !== "read") {
    if (!may(caller, PERMISSIONS.manageBase, base)) throw notManaged();
    assertMayAny(caller, NEEDS[need]);
    if (!may(caller, NEEDS[need], base)) throw notManaged();
  }
  if (operation !== undefined && base.kb_type !== "local") {
    throw new ApiProblem(
      "retrieval_only",
      `a knowledge base of ${base.kb_type} only answers queries: ${operation} is not possible`,
      {
        operation,
        kb_type: base.kb_type,
      },
    );
  }
  return base;
}

/** Keeps a knowledge base from being deleted or changed for the rest of the transaction. @throws {ApiProblem} kb_not_found */
export async function holdBase(trx: Transaction, kbId: string): Promise<BaseRow> {
  const base = await trx
    .selectFrom("knowledge_base")
    .selectAll()
    .where("id", "=", kbId)
    .where("deleted_at", "is", null)
    .forShare()
    .executeTakeFirst();
  if (base === undefined) throw notFound(kbId);
  return base;
}

function notManaged(): ApiProblem {
  return new ApiProblem("manage_required", "you may read this knowledge base, and not manage it");
}

/** A knowledge base that may not be read is not there. */
export function notFound(kbId: string): ApiProblem {
  return new ApiProblem("kb_not_found", `there is no knowledge base ${JSON.stringify(kbId)}`);
}

/** The ids of all knowledge bases that a caller manages. */
export async function listManagedIds(db: Queries, caller: Caller): Promise<string[]> {
  const rows = await db
    .selectFrom("knowledge_base")
    .select(["id", "created_by", "share_config"])
    .where("deleted_at", "is", null)
    .execute();
  return rows.flatMap((row) => (may(caller, PERMISSIONS.manageBase, row) ? [row.id] : []));
}

/** A knowledge base, for any caller; undefined once it was deleted. */
export async function findBase(db: Queries, kbId: string): Promise<BaseRow | undefined> {
  return db
    .selectFrom("knowledge_base")
    .selectAll()
    .where("id", "=", kbId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
}
