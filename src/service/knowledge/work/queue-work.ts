import { sql } from "kysely";
import type { IndexParams, ParseParams, PendingQueued, Queued } from "../../protocol/knowledge-files.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import type { KnowledgeFileStatus } from "../../storage/knowledge-tables.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { startTask } from "../../tasks/start-task.ts";
import { holdBase, type BaseRow } from "../state/access.ts";
import { statesOf, type FileWork } from "../state/states.ts";
import { KINDS } from "../state/task-kinds.ts";

/** Starts the tasks that parse and index. */
export type WorkQueue = ReturnType<typeof createWorkQueue>;

/** Files named in a refusal. */
const MOST_NAMED = 100;

export function createWorkQueue(storage: Storage, maxIds: number) {
  /** All of the files or none. Repeated ids count once. */
  async function checkFiles(
    trx: Transaction,
    base: BaseRow,
    ids: readonly string[],
    taken: readonly KnowledgeFileStatus[],
  ): Promise<string[]> {
    const unique = [...new Set(ids)];
    if (unique.length > maxIds) {
      throw new ApiProblem("too_many_file_ids", `at most ${maxIds} ids a call; for more use the by-state routes`, {
        limit: maxIds,
      });
    }
    await holdBase(trx, base.id);
    const rows = await trx
      .selectFrom("knowledge_file")
      .select(["id", "status", "claim_task"])
      .where("kb_id", "=", base.id)
      .where("id", "in", unique)
      .execute();
    const known = new Set(rows.map(({ id }) => id));
    const missing = unique.filter((id) => !known.has(id));
    if (missing.length > 0)
      throw new ApiProblem("file_not_found", "some files are not in this knowledge base", { file_ids: missing });
    const refuse = (code: "file_busy" | "file_state_conflict", files: typeof rows, message: string): void => {
      if (files.length === 0) return;
      const named = files.slice(0, MOST_NAMED).map(({ id, status }) => ({ file_id: id, status }));
      throw new ApiProblem(code, message, { files: named });
    };
    refuse(
      "file_busy",
      rows.filter(({ claim_task: task }) => task !== null),
      "a task works on some of these files: wait for it or cancel it",
    );
    refuse(
      "file_state_conflict",
      rows.filter(({ status }) => !taken.includes(status)),
      `only files that are ${taken.join(", ")} are taken`,
    );
    return unique;
  }

  /** What the by-state task of this knowledge base would take now. */
  async function countPending(
    trx: Transaction,
    base: BaseRow,
    states: readonly KnowledgeFileStatus[],
  ): Promise<number> {
    const { count } = await trx
      .selectFrom("knowledge_file")
      .select(sql<number>`count(*)::int`.as("count"))
      .where("kb_id", "=", base.id)
      .where("status", "in", [...states])
      .executeTakeFirstOrThrow();
    return count;
  }

  async function queuePending(
    base: BaseRow,
    caller: Caller,
    work: FileWork,
    {
      include_failed: includeFailed = false,
      ...params
    }: ParseParams & IndexParams & { include_failed?: boolean | undefined },
  ): Promise<PendingQueued> {
    return storage.transaction(async (trx) => {
      await holdBase(trx, base.id);
      const states = statesOf(work, { pending: true, includeFailed });
      const count = await countPending(trx, base, states);
      if (count === 0)
        return { message: "nothing to do", status: "success" as const, task_id: null, queued_count: 0, joined: false };
      const selection = { kb_id: base.id, pending: true as const, include_failed: includeFailed };
      const common = {
        key: `${base.id}:pending`,
        userId: caller.userId,
        name: `${work} what is pending in ${base.name}`,
      };
      const { task, joined } =
        work === "parse"
          ? await startTask(storage, trx, { ...common, kind: KINDS.parse, payload: { ...selection, params } })
          : await startTask(storage, trx, { ...common, kind: KINDS.index, payload: { ...selection, params } });
      return {
        message: joined ? "a task that was open already takes them" : "queued",
        status: "queued" as const,
        task_id: task.id,
        queued_count: count,
        joined,
      };
    });
  }

  return {
    /** @throws {ApiProblem} too_many_file_ids, file_not_found, file_busy, file_state_conflict */
    parse(base: BaseRow, caller: Caller, ids: readonly string[], params: ParseParams): Promise<Queued> {
      return storage.transaction(async (trx) => {
        const states = statesOf("parse", { force: params.force === true });
        const fileIds = await checkFiles(trx, base, ids, states);
        const { task } = await startTask(storage, trx, {
          kind: KINDS.parse,
          userId: caller.userId,
          name: `parse ${fileIds.length} of ${base.name}`,
          payload: { kb_id: base.id, file_ids: fileIds, params },
        });
        return { message: "queued", status: "queued", task_id: task.id };
      });
    },

    /** @throws {ApiProblem} too_many_file_ids, file_not_found, file_busy, file_state_conflict */
    index(base: BaseRow, caller: Caller, ids: readonly string[], params: IndexParams): Promise<Queued> {
      return storage.transaction(async (trx) => {
        const fileIds = await checkFiles(trx, base, ids, statesOf("index", {}));
        const { task } = await startTask(storage, trx, {
          kind: KINDS.index,
          userId: caller.userId,
          name: `index ${fileIds.length} of ${base.name}`,
          payload: { kb_id: base.id, file_ids: fileIds, params },
        });
        return { message: "queued", status: "queued", task_id: task.id };
      });
    },

    /** Files that have only been added; with `include_failed` those that could not be parsed as well. */
    parsePending: (
      base: BaseRow,
      caller: Caller,
      params: Omit<ParseParams, "force"> & { include_failed?: boolean | undefined },
    ) => queuePending(base, caller, "parse", params),

    /** Files that are parsed, and those that could not be indexed. */
    indexPending: (base: BaseRow, caller: Caller, params: IndexParams & { include_failed?: boolean | undefined }) =>
      queuePending(base, caller, "index", params),
  };
}
