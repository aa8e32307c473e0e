import { sql } from "kysely";
import { Manifest } from "../../agents/manifest.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { RunStatus } from "../../protocol/runs.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { RequestRow, RunRow } from "../state/rows.ts";

/** A run with what the API shows beside it. */
export interface RunDetails {
  readonly run: RunRow;
  readonly request: ShownRequest;
  readonly threadId: string;
  readonly manifest: Manifest;
}

/** Of a request what is shown beside its run: without its images, which are megabytes. */
interface ShownRequest extends Pick<RequestRow, "request_id" | "kind" | "source" | "created_at"> {
  /** What a person wrote. */
  readonly query: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A run of a user. @throws {ApiProblem} run_not_found: another's is not there (law: not yours is not there) */
export async function findRun(db: Queries | Transaction, userId: number, runId: string): Promise<RunDetails> {
  const [found] = UUID.test(runId) ? await listRuns(db, { userId, runId, limit: 1 }) : [];
  if (found === undefined) throw new ApiProblem("run_not_found", `there is no run ${JSON.stringify(runId)}`);
  return found;
}

export interface RunFilter {
  readonly userId: number;
  readonly runId?: string | undefined;
  readonly threadPk?: number | undefined;
  readonly status?: RunStatus | undefined;
  /** Only runs older than this one. */
  readonly before?: string | undefined;
  /** By where they acted in their thread, not by their requests' intake: a steer acts before what waited already. */
  readonly isAsActed?: boolean;
  readonly limit: number;
}

/** Newest first. */
export async function listRuns(db: Queries | Transaction, filter: RunFilter): Promise<RunDetails[]> {
  let query = db
    .selectFrom("run")
    .selectAll()
    .where("user_id", "=", filter.userId)
    .where("thread_pk", "in", (runs) =>
      runs.selectFrom("thread").select("pk").where("user_id", "=", filter.userId).where("deleted_at", "is", null),
    )
    .orderBy(filter.isAsActed === true ? "ordinal" : "id", "desc")
    .limit(filter.limit);
  if (filter.runId !== undefined) query = query.where("id", "=", filter.runId);
  if (filter.threadPk !== undefined) query = query.where("thread_pk", "=", filter.threadPk);
  if (filter.status !== undefined) query = query.where("status", "=", filter.status);
  const { before } = filter;
  if (before !== undefined) {
    query =
      filter.isAsActed === true
        ? query.where("ordinal", "<", (run) =>
            run.selectFrom("run as other").select("ordinal").where("id", "=", before),
          )
        : query.where("id", "<", before);
  }
  const runs = await query.execute();
  if (runs.length === 0) return [];
  const requests = await db
    .selectFrom("run_request")
    .select(["pk", "request_id", "kind", "source", "created_at"])
    .select(sql<string>`input->>'query'`.as("query"))
    .where(
      "pk",
      "in",
      runs.map((run) => run.request_pk),
    )
    .execute();
  const threads = await db
    .selectFrom("thread")
    .select(["pk", "id"])
    .where(
      "pk",
      "in",
      runs.map((run) => run.thread_pk),
    )
    .execute();
  const manifests = await db
    .selectFrom("manifest")
    .selectAll()
    .where(
      "digest",
      "in",
      runs.map((run) => run.manifest_digest),
    )
    .execute();
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  const byPk = new Map(requests.map((request) => [request.pk, request]));
  const threadIds = new Map(threads.map(({ pk, id }) => [pk, id]));
  const byDigest = new Map(manifests.map(({ digest, body }) => [hex(digest), Manifest.parse(body)]));
  return runs.flatMap((run) => {
    const request = byPk.get(run.request_pk);
    const threadId = threadIds.get(run.thread_pk);
    const manifest = byDigest.get(hex(run.manifest_digest));
    return request === undefined || threadId === undefined || manifest === undefined
      ? []
      : [{ run, request, threadId, manifest }];
  });
}

/** A request of a user. @throws {ApiProblem} request_not_found */
export async function findRequest(db: Queries | Transaction, userId: number, requestId: string): Promise<RequestRow> {
  const row = await db
    .selectFrom("run_request")
    .selectAll()
    .where("user_id", "=", userId)
    .where("request_id", "=", requestId)
    .where("thread_pk", "in", (query) =>
      query.selectFrom("thread").select("pk").where("user_id", "=", userId).where("deleted_at", "is", null),
    )
    .executeTakeFirst();
  if (row === undefined) throw new ApiProblem("request_not_found", `there is no request ${JSON.stringify(requestId)}`);
  return row;
}
