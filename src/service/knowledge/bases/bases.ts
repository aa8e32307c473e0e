import { sql } from "kysely";
import { defined } from "../../../kit/defined.ts";
import type {
  CreateKnowledgeBaseBody,
  KbType,
  KnowledgeBase,
  UpdateKnowledgeBaseBody,
} from "../../protocol/knowledge-bases.ts";
import { ApiProblem, InputProblem } from "../../protocol/problems.ts";
import type { KnownActor } from "../../auth/accounts.ts";
import { writeAudit } from "../../auth/audit.ts";
import type { Caller } from "../../auth/caller.ts";
import { assertMayAny, may, PERMISSIONS } from "../../auth/permissions.ts";
import { assertSharedWithKnown, checkShareConfig, DEFAULT_SHARE } from "../../auth/scopes.ts";
import { json } from "../../storage/storable.ts";
import type { Storage } from "../../storage/storage.ts";
import { violatedConstraint, type Transaction } from "../../storage/transaction.ts";
import { startTask } from "../../tasks/start-task.ts";
import { notFound, type BaseRow } from "../state/access.ts";
import { countFiles, showBase, type EngineNames } from "../state/base-view.ts";
import type { Lexical } from "../lexical/lexical.ts";
import { newId } from "../state/new-id.ts";
import { createPartitions } from "../state/partitions.ts";
import { KINDS } from "../state/task-kinds.ts";

export interface BasesOptions {
  readonly storage: Storage;
  readonly lexical: Lexical;
  readonly engines: EngineNames;
  /** Models that may be named; the first is `default`. Empty without an embedding service. */
  readonly embeddingModels: readonly string[];
  /** Checks where content of another system is, and what it is reached with. @throws {ApiProblem} connector_invalid */
  readonly checkConnector: (kind: Exclude<KbType, "local">, connector: Readonly<Record<string, unknown>>) => void;
}

/** Records of knowledge bases. */
export type Bases = ReturnType<typeof createBases>;

export function createBases(options: BasesOptions) {
  const { storage } = options;

  async function show(row: BaseRow, caller: Caller): Promise<KnowledgeBase> {
    const counts = await countFiles(storage.db, [row.id]);
    return showBase(row, caller, counts.get(row.id), options.engines);
  }

  /** Those that the caller manages, by name. */
  async function list(
    caller: Caller,
    page: { skip: number; limit: number },
  ): Promise<{ databases: KnowledgeBase[]; total: number }> {
    // Permission is a rule over a document: there are as many knowledge bases as people make, not as files.
    const rows = await storage.db
      .selectFrom("knowledge_base")
      .selectAll()
      .where("deleted_at", "is", null)
      .orderBy("name")
      .orderBy("id")
      .execute();
    const managed = rows.filter((row) => may(caller, PERMISSIONS.manageBase, row));
    const shown = managed.slice(page.skip, page.skip + page.limit);
    const counts = await countFiles(
      storage.db,
      shown.map(({ id }) => id),
    );
    return {
      databases: shown.map((row) => showBase(row, caller, counts.get(row.id), options.engines)),
      total: managed.length,
    };
  }

  async function create(actor: KnownActor, body: CreateKnowledgeBaseBody): Promise<KnowledgeBase> {
    assertMayAny(actor.caller, PERMISSIONS.makeBase);
    const share = checkShareConfig(body.share_config ?? DEFAULT_SHARE);
    const model = resolveModel(options, body.embedding_model_spec ?? null);
    checkConnector(options, body.kb_type, body.connector ?? {});
    const row = await storage.transaction(async (trx) => {
      await assertSharedWithKnown(trx, share);
      const made = await refuseTakenName(
        trx
          .insertInto("knowledge_base")
          .values({
            id: newId("kb"),
            name: body.name ?? body.database_name ?? "",
            kb_type: body.kb_type,
            share_config: json({ ...share }),
            embedding_model_spec: model,
            created_by: actor.caller.userId,
            ...columnsOf(body),
          })
          .returningAll()
          .executeTakeFirstOrThrow(),
      );
      if (made.kb_type === "local") {
        await createPartitions(trx, made.no);
        await options.lexical.createIndex(trx, made.no);
      }
      await writeAudit(trx, actor, {
        action: "knowledge_base.created",
        subject: `knowledge_base:${made.id}`,
        details: { share_config: share },
      });
      return made;
    });
    return show(row, actor.caller);
  }

  async function update(
    actor: KnownActor,
    kbId: string,
    body: UpdateKnowledgeBaseBody,
  ): Promise<{ database: KnowledgeBase; task_id: string | null; warnings: string[] }> {
    const share = body.share_config === undefined ? undefined : checkShareConfig(body.share_config);
    const { row, taskId } = await storage.transaction(async (trx) => {
      const before = await lockBase(trx, kbId);
      if (before.revision !== body.revision) {
        throw new ApiProblem("stale_revision", `the knowledge base is at revision ${before.revision}`, {
          revision: before.revision,
        });
      }
      if (share !== undefined) await assertSharedWithKnown(trx, share, before.share_config);
      if (body.connector !== undefined) checkConnector(options, before.kb_type, body.connector);
      const model =
        body.embedding_model_spec === undefined
          ? before.embedding_model_spec
          : resolveModel(options, body.embedding_model_spec);
      const hasNewModel = model !== before.embedding_model_spec;
      // Vectors of two models cannot be compared: the files are indexed again, or nothing changes.
      const mustReindex = hasNewModel && (await hasIndexed(trx, kbId));
      if (mustReindex && !body.reindex) {
        throw new ApiProblem(
          "embedding_model_fixed",
          "files are indexed already: send reindex: true to index them again with another model",
          { embedding_model_spec: before.embedding_model_spec },
        );
      }
      const name = body.name ?? body.database_name;
      const changed = await refuseTakenName(
        trx
          .updateTable("knowledge_base")
          .set({
            ...columnsOf(body),
            ...defined({ name }),
            ...(share === undefined ? {} : { share_config: json({ ...share }) }),
            ...(hasNewModel ? { embedding_model_spec: model, embedding_dims: null } : {}),
            revision: before.revision + 1,
            updated_at: sql<Date>`now()`,
          })
          .where("id", "=", kbId)
          .returningAll()
          .executeTakeFirstOrThrow(),
      );
      // Vectors of the model before answer no more questions.
      if (hasNewModel)
        await trx.updateTable("knowledge_file").set({ vector_count: 0 }).where("kb_id", "=", kbId).execute();
      const changes = Object.entries(body).flatMap(([key, value]) =>
        value === undefined || key === "revision" || key === "reindex" ? [] : [key],
      );
      await writeAudit(trx, actor, {
        action: "knowledge_base.updated",
        subject: `knowledge_base:${kbId}`,
        details: { changes, ...defined({ share_config: share }) },
      });
      if (!mustReindex) return { row: changed, taskId: null };
      const { task } = await startTask(storage, trx, {
        kind: KINDS.index,
        userId: actor.caller.userId,
        name: `index ${changed.name} again`,
        payload: { kb_id: kbId, all: true, params: {} },
      });
      return { row: changed, taskId: task.id };
    });
    const isChunkedAnew = body.chunking !== undefined && taskId === null;
    return {
      database: await show(row, actor.caller),
      task_id: taskId,
      warnings: isChunkedAnew ? ["chunking_needs_index"] : [],
    };
  }

  /** Gone at once; a task empties it. */
  async function remove(actor: KnownActor, kbId: string): Promise<string> {
    return storage.transaction(async (trx) => {
      const base = await lockBase(trx, kbId);
      await trx
        .updateTable("knowledge_base")
        .set({ deleted_at: sql<Date>`now()`, updated_at: sql<Date>`now()` })
        .where("id", "=", kbId)
        .execute();
      await writeAudit(trx, actor, { action: "knowledge_base.deleted", subject: `knowledge_base:${kbId}` });
      const { task } = await startTask(storage, trx, {
        kind: KINDS.delete,
        key: kbId,
        userId: actor.caller.userId,
        name: `delete ${base.name}`,
        payload: { kb_id: kbId },
      });
      return task.id;
    });
  }

  return { list, show, create, update, remove };
}

async function lockBase(trx: Transaction, kbId: string): Promise<BaseRow> {
  const row = await trx
    .selectFrom("knowledge_base")
    .selectAll()
    .where("id", "=", kbId)
    .where("deleted_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw notFound(kbId);
  return row;
}

async function hasIndexed(trx: Transaction, kbId: string): Promise<boolean> {
  const row = await trx
    .selectFrom("knowledge_file")
    .select("id")
    .where("kb_id", "=", kbId)
    .where((where) => where.or([where("chunk_count", ">", 0), where("status", "=", "indexing")]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** `default` is the first model. @throws {ApiProblem} embedding_model_unknown */
function resolveModel({ embeddingModels }: BasesOptions, spec: string | null): string | null {
  if (spec === null) return null;
  const model = spec === "default" ? embeddingModels[0] : embeddingModels.find((known) => known === spec);
  if (model !== undefined) return model;
  const known = embeddingModels.length === 0 ? "no embedding service is configured" : embeddingModels.join(", ");
  throw new InputProblem(
    "embedding_model_unknown",
    ["body", "embedding_model_spec"],
    `there is no embedding model ${JSON.stringify(spec)}: ${known}`,
  );
}

function checkConnector(options: BasesOptions, kind: KbType, connector: Readonly<Record<string, unknown>>): void {
  if (kind !== "local") options.checkConnector(kind, connector);
  else if (Object.keys(connector).length > 0)
    throw new InputProblem("connector_invalid", ["body", "connector"], "a local knowledge base has no connector");
}

/** Columns that both bodies may give, as they are stored. */
function columnsOf(body: Pick<CreateKnowledgeBaseBody, "description" | "chunking" | "query_params" | "connector">) {
  return {
    ...defined({ description: body.description }),
    ...(body.chunking === undefined ? {} : { chunking: json({ ...body.chunking }) }),
    ...(body.query_params === undefined ? {} : { query_params: json({ ...body.query_params }) }),
    ...(body.connector === undefined ? {} : { connector: json({ ...body.connector }) }),
  };
}

async function refuseTakenName<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    if (violatedConstraint(error) !== "knowledge_base_name") throw error;
    throw new ApiProblem("kb_name_taken", "you have a knowledge base of this name already");
  }
}
