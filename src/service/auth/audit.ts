import type { AuditEntry } from "../protocol/auth.ts";
import { json } from "../storage/storable.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";
import { describeCredential, type Caller } from "./caller.ts";

/** Who did it and from where. */
export interface Actor {
  readonly caller?: Caller | undefined;
  readonly ip: string | null;
}

/** What is written down; details never hold a secret. Law: secrets are derived, hashed or outside. */
export interface AuditRecord {
  /** `noun.past`: `key.created`. */
  readonly action: string;
  /** `kind:id`: `api_key:7`. */
  readonly subject: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Writes an entry; in the transaction of the change it records, where there is one. */
export async function writeAudit(db: Queries | Transaction, actor: Actor, record: AuditRecord): Promise<void> {
  await db
    .insertInto("audit_entry")
    .values({
      actor_id: actor.caller?.userId ?? null,
      credential: actor.caller === undefined ? "none" : describeCredential(actor.caller),
      action: record.action,
      subject: record.subject,
      ip: actor.ip,
      details: json(record.details ?? {}),
    })
    .execute();
}

/** Newest first. */
export async function listAudit(
  db: Queries,
  filter: { subject?: string | undefined; before?: number | undefined; limit: number },
): Promise<AuditEntry[]> {
  let query = db.selectFrom("audit_entry").selectAll().orderBy("id", "desc").limit(filter.limit);
  if (filter.subject !== undefined) query = query.where("subject", "=", filter.subject);
  if (filter.before !== undefined) query = query.where("id", "<", filter.before);
  const rows = await query.execute();
  return rows.map((row) => ({ ...row, at: row.at.toISOString(), details: { ...row.details } }));
}
