import { setTimeout as delay } from "node:timers/promises";
import { Manifest } from "../agents/manifest.ts";
import { credentialOf, type Caller } from "../auth/caller.ts";
import { runOfToken } from "../auth/derive.ts";
import type { Storage } from "../storage/storage.ts";

/** What a running turn may do here: what its run's user may, with the knowledge bases that its agent named. */
export interface RunAccess {
  readonly runId: string;
  readonly caller: Caller;
  readonly knowledgeBases: readonly string[];
}

export interface AccessOptions {
  readonly storage: Storage;
  readonly keySecret: string;
  /** Ends the waits. */
  readonly closing: AbortSignal;
}

/** A steered turn starts at turnd a moment before its run does here. */
const START_MS = 5_000;
const POLL_MS = 100;

/**
 * Finds the run behind a token, as the rows are at this moment.
 *
 * @returns undefined for a token that is none of ours, a run that is not `running` or that no worker has had for a lease, and
 *   a user who is disabled or gone
 */
export async function readAccess(
  options: AccessOptions,
  authorization: string | undefined,
): Promise<RunAccess | undefined> {
  const token = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
  const runId = token === undefined ? undefined : runOfToken(options.keySecret, token);
  if (runId === undefined || !(await isRunning(options, runId))) return undefined;
  const row = await options.storage.db
    .selectFrom("run")
    .innerJoin("account", "account.id", "run.user_id")
    .innerJoin("manifest", "manifest.digest", "run.manifest_digest")
    .innerJoin("run_request", "run_request.pk", "run.request_pk")
    .select(["account.id", "account.username", "account.role", "account.department_id", "manifest.body"])
    .select("run_request.api_key_id")
    .where("run.id", "=", runId)
    .where("run.status", "=", "running")
    .where("account.is_enabled", "=", true)
    .where("account.deleted_at", "is", null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { id, username, role, department_id: departmentId, body } = row;
  return {
    runId,
    caller: { userId: id, username, role, departmentId, credential: credentialOf(row.api_key_id) },
    knowledgeBases: Manifest.parse(body).knowledge_bases ?? [],
  };
}

async function isRunning({ storage, closing }: AccessOptions, runId: string): Promise<boolean> {
  const until = performance.now() + START_MS;
  for (;;) {
    const run = await storage.db.selectFrom("run").select("status").where("id", "=", runId).executeTakeFirst();
    // A restored backup has runs that were `running` when it was made.
    if (run?.status === "running") return storage.jobs.isWorkedOn("run", runId);
    const mayStart = run === undefined || run.status === "pending";
    if (!mayStart || closing.aborted || performance.now() > until) return false;
    await delay(POLL_MS, undefined, { signal: closing }).catch(() => undefined);
  }
}
