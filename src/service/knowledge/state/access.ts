import type { Selectable } from "kysely";
import { ApiProblem } from "../../protocol/problems.ts";
import { requireRole, type Caller } from "../../auth/caller.ts";
import { canManage, canRead } from "../../auth/scopes.ts";
import type { KnowledgeBaseTable } from "../../storage/knowledge-tables.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";

export type BaseRow = Selectable<KnowledgeBaseTable>;

/**
 * What an operation needs of its caller. `upload` is managing by an admin or superadmin.
 * Source: the specification's table of access by role.
 */
export type Need = "read" | "manage" | "upload";

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
  if (base === undefined || !canRead(caller, base)) throw notFound(kbId);
  if (need !== "read" && !canManage(caller, base))
    throw new ApiProblem("manage_required", "you may read this knowledge base, and not manage it");
  if (need === "upload") requireRole(caller, "admin", "superadmin");
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

/** A knowledge base that may not be read is not there. */
export function notFound(kbId: string): ApiProblem {
  return new ApiProblem("kb_not_found", `there is no knowledge base ${JSON.stringify(kbId)}`);
}

/** The ids of all knowledge bases that a caller manages. */
export async function listManagedIds(db: Queries, caller: Caller): Promise<string[]> {
  // A caller of the role `user` manages what they have made, whatever the scopes are.
  let query = db.selectFrom("knowledge_base").select(["id", "created_by", "share_config"]);
  if (caller.role === "user") query = query.where("created_by", "=", caller.userId);
  const rows = await query.where("deleted_at", "is", null).execute();
  return rows.flatMap((row) => (canManage(caller, row) ? [row.id] : []));
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
