import { sql, type Selectable } from "kysely";
import { defined } from "../../kit/defined.ts";
import { Agent, type CreateAgentBody, type UpdateAgentBody } from "../protocol/agents.ts";
import { ApiProblem, InputProblem } from "../protocol/problems.ts";
import type { KnownActor } from "../auth/accounts.ts";
import { writeAudit } from "../auth/audit.ts";
import type { Caller } from "../auth/caller.ts";
import { assertMayAny, may, PERMISSIONS } from "../auth/permissions.ts";
import { assertSharedWithKnown, checkShareConfig, DEFAULT_SHARE } from "../auth/scopes.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { AgentTable } from "../storage/tables.ts";
import { sqlState, violatedConstraint, type Queries, type Transaction } from "../storage/transaction.ts";
import { modelOf } from "./models.ts";

export type AgentRow = Selectable<AgentTable>;

/** What a slug names, and who may use it. */
export type Agents = ReturnType<typeof createAgents>;

export function createAgents(storage: Storage) {
  async function list(
    caller: Caller,
    page: { skip: number; limit: number },
  ): Promise<{ agents: Agent[]; total: number }> {
    // Visibility is a rule over a document: there are as many agents as people make, not as runs.
    const rows = await storage.db.selectFrom("agent").selectAll().orderBy("slug").execute();
    const visible = rows.filter((row) => may(caller, PERMISSIONS.useAgent, row));
    return { agents: visible.slice(page.skip, page.skip + page.limit).map(showAgent), total: visible.length };
  }

  async function get(caller: Caller, slug: string): Promise<Agent> {
    return showAgent(await findVisible(storage.db, caller, slug));
  }

  async function create(actor: KnownActor, body: CreateAgentBody): Promise<Agent> {
    assertMayAny(actor.caller, PERMISSIONS.makeAgent);
    const { slug, name, executor, ...given } = body;
    const share_config = checkShareConfig(given.share_config ?? DEFAULT_SHARE);
    assertRunnable(executor, given.mode ?? "execute");
    assertModels(body.model_spec ?? null, body.allowed_models ?? null);
    return storage.transaction(async (trx) => {
      await assertSharedWithKnown(trx, share_config);
      await assertReadable(trx, actor.caller, body.knowledge_bases ?? []);
      try {
        const row = await trx
          .insertInto("agent")
          .values({
            slug,
            name,
            executor,
            mode: given.mode ?? "execute",
            created_by: actor.caller.userId,
            ...columnsOf(given),
            share_config: json(share_config),
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        await writeAudit(trx, actor, { action: "agent.created", subject: `agent:${slug}`, details: { share_config } });
        return showAgent(row);
      } catch (error) {
        if (violatedConstraint(error) === undefined) throw error;
        throw new ApiProblem("slug_taken", `there is an agent ${slug} already`);
      }
    });
  }

  async function update(actor: KnownActor, slug: string, body: UpdateAgentBody): Promise<Agent> {
    const shared = body.share_config === undefined ? {} : { share_config: checkShareConfig(body.share_config) };
    return storage.transaction(async (trx) => {
      const row = await findManaged(trx, actor.caller, slug);
      const { revision, ...given } = body;
      if (row.revision !== revision) {
        throw new ApiProblem("stale_revision", `the agent is at revision ${row.revision}`, { revision: row.revision });
      }
      assertRunnable(row.executor, given.mode ?? row.mode);
      if (shared.share_config !== undefined) await assertSharedWithKnown(trx, shared.share_config, row.share_config);
      // One that was deleted since may stay.
      const added = (given.knowledge_bases ?? []).filter((id) => !row.knowledge_bases.includes(id));
      await assertReadable(trx, actor.caller, added);
      assertModels(
        given.model_spec === undefined ? row.model_spec : given.model_spec,
        given.allowed_models === undefined ? row.allowed_models : given.allowed_models,
      );
      const changed = await trx
        .updateTable("agent")
        .set({
          ...columnsOf(given),
          ...defined({ name: given.name, mode: given.mode }),
          ...(shared.share_config === undefined ? {} : { share_config: json(shared.share_config) }),
          revision: row.revision + 1,
          updated_at: sql<Date>`now()`,
        })
        .where("id", "=", row.id)
        .returningAll()
        .executeTakeFirstOrThrow();
      const changes = Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [key]));
      await writeAudit(trx, actor, {
        action: "agent.updated",
        subject: `agent:${slug}`,
        details: { changes, ...shared },
      });
      return showAgent(changed);
    });
  }

  async function remove(actor: KnownActor, slug: string): Promise<void> {
    await storage.transaction(async (trx) => {
      const row = await findManaged(trx, actor.caller, slug);
      try {
        await trx.deleteFrom("agent").where("id", "=", row.id).execute();
      } catch (error) {
        if (sqlState(error) !== "23503") throw error;
        throw new ApiProblem("agent_in_use", "threads belong to this agent; disable it instead");
      }
      await writeAudit(trx, actor, { action: "agent.deleted", subject: `agent:${slug}` });
    });
  }

  return { list, get, create, update, remove };
}

/** @throws {ApiProblem} agent_not_found: one that may not be seen is not there */
export async function findVisible(db: Queries | Transaction, caller: Caller, slug: string): Promise<AgentRow> {
  return assertVisible(
    caller,
    await db.selectFrom("agent").selectAll().where("slug", "=", slug).executeTakeFirst(),
    slug,
  );
}

/** The same for a row that was looked for. @throws {ApiProblem} agent_not_found */
export function assertVisible(caller: Caller, row: AgentRow | undefined, slug: string): AgentRow {
  if (row === undefined || !may(caller, PERMISSIONS.useAgent, row))
    throw new ApiProblem("agent_not_found", `there is no agent ${JSON.stringify(slug)}`);
  return row;
}

async function findManaged(trx: Transaction, caller: Caller, slug: string): Promise<AgentRow> {
  const row = await trx.selectFrom("agent").selectAll().where("slug", "=", slug).forUpdate().executeTakeFirst();
  if (row === undefined || !may(caller, PERMISSIONS.useAgent, row))
    throw new ApiProblem("agent_not_found", `there is no agent ${JSON.stringify(slug)}`);
  if (!may(caller, PERMISSIONS.manageAgent, row)) throw new ApiProblem("forbidden", "you do not manage this agent");
  return row;
}

/** @throws {ApiProblem} kb_not_found: one that its maker may not read is not there */
async function assertReadable(trx: Transaction, caller: Caller, kbIds: readonly string[]): Promise<void> {
  if (kbIds.length === 0) return;
  const rows = await trx
    .selectFrom("knowledge_base")
    .selectAll()
    .where("id", "in", kbIds)
    .where("deleted_at", "is", null)
    .execute();
  const readable = new Set(rows.filter((row) => may(caller, PERMISSIONS.readBase, row)).map(({ id }) => id));
  const missing = kbIds.find((id) => !readable.has(id));
  if (missing !== undefined)
    throw new ApiProblem("kb_not_found", `there is no knowledge base ${JSON.stringify(missing)}`);
}

/** Columns that both bodies may give, as they are stored. */
function columnsOf(given: Omit<UpdateAgentBody, "revision">) {
  return {
    ...defined({
      description: given.description,
      model_spec: given.model_spec,
      allowed_models: given.allowed_models,
      instructions: given.instructions,
      tool_approval_mode: given.tool_approval_mode,
    }),
    ...(given.permissions === undefined ? {} : { permissions: json({ ...given.permissions }) }),
    ...(given.limits === undefined ? {} : { limits: json({ ...given.limits }) }),
    ...(given.knowledge_bases === undefined ? {} : { knowledge_bases: [...given.knowledge_bases] }),
    ...(given.sandbox === undefined ? {} : { sandbox: json({ ...given.sandbox }) }),
    ...defined({ is_enabled: given.is_enabled }),
  };
}

function assertRunnable(executor: AgentRow["executor"], mode: AgentRow["mode"]): void {
  if (mode === "review" && executor !== "cli-b")
    throw new InputProblem("mode_unsupported", ["body", "mode"], "only cli-b has review");
}

/** An agent's own model is one of those it allows. */
function assertModels(model: string | null, allowed: readonly string[] | null): void {
  if (model !== null) modelOf({ model_spec: model, allowed_models: allowed === null ? null : [...allowed] }, undefined);
}

/** An agent as the API shows one. */
export function showAgent(row: AgentRow): Agent {
  return Agent.parse({ ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() });
}
