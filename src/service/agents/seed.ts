import { readFile } from "node:fs/promises";
import { z } from "zod";
import { CreateAgentBody } from "../protocol/agents.ts";
import { InputProblem } from "../protocol/problems.ts";
import type { ShareConfig } from "../protocol/auth.ts";
import { assertSharedWithKnown, checkShareConfig, DEFAULT_SHARE } from "../auth/scopes.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";

export type SeedAgent = z.infer<typeof CreateAgentBody>;

/** What a service without any agent begins with. */
const DEFAULTS: readonly SeedAgent[] = [
  { slug: "cli-a", name: "CLI A", executor: "cli-a" },
  { slug: "cli-b", name: "CLI B", executor: "cli-b" },
  { slug: "cli-a-plan", name: "CLI A, plan first", executor: "cli-a", mode: "plan_then_execute" },
  { slug: "cli-b-plan", name: "CLI B, plan first", executor: "cli-b", mode: "plan_then_execute" },
];

/** The agents of the operator's file. @throws when the file is no list of agents */
export async function readAgentsFile(
  path: string | undefined,
): Promise<{ agents: readonly SeedAgent[]; isDefault: boolean }> {
  if (path === undefined) return { agents: DEFAULTS, isDefault: true };
  const parsed = z.array(CreateAgentBody).safeParse(JSON.parse(await readFile(path, "utf8")));
  if (!parsed.success) throw new Error(`SERVICE_AGENTS_FILE ${path}: ${z.prettifyError(parsed.error)}`);
  return { agents: parsed.data, isDefault: false };
}

/**
 * Puts agents in place by slug; the defaults only where there is no agent at all.
 *
 * @throws where one is shared with departments or users that are not there: an id that is not would be given to someone else one day
 */
export async function putAgents(
  storage: Storage,
  { agents, isDefault }: { agents: readonly SeedAgent[]; isDefault: boolean },
): Promise<void> {
  await storage.transaction(async (trx) => {
    if (isDefault && (await trx.selectFrom("agent").select("id").limit(1).executeTakeFirst()) !== undefined) return;
    for (const agent of agents) {
      const share = await readShare(trx, agent);
      const columns = {
        name: agent.name,
        description: agent.description ?? "",
        mode: agent.mode ?? ("execute" as const),
        model_spec: agent.model_spec ?? null,
        allowed_models: agent.allowed_models ?? null,
        instructions: agent.instructions ?? "",
        tool_approval_mode: agent.tool_approval_mode ?? ("default" as const),
        permissions: json({ ...agent.permissions }),
        limits: json({ ...agent.limits }),
        knowledge_bases: [...(agent.knowledge_bases ?? [])],
        share_config: json(share),
        is_enabled: agent.is_enabled ?? true,
      };
      await trx
        .insertInto("agent")
        .values({ slug: agent.slug, executor: agent.executor, ...columns })
        // A thread's session keeps its CLI, and callers their revision.
        .onConflict((conflict) =>
          isDefault ? conflict.column("slug").doNothing() : conflict.column("slug").doUpdateSet(columns),
        )
        .execute();
    }
  });
}

/** What an agent had before may stay, as a department or user may be gone since. */
async function readShare(trx: Transaction, { slug, share_config: given }: SeedAgent): Promise<ShareConfig> {
  const before = await trx.selectFrom("agent").select("share_config").where("slug", "=", slug).executeTakeFirst();
  try {
    const share = checkShareConfig(given ?? DEFAULT_SHARE);
    await assertSharedWithKnown(trx, share, before?.share_config);
    return share;
  } catch (error) {
    if (!(error instanceof InputProblem)) throw error;
    throw new Error(`SERVICE_AGENTS_FILE: the agent ${slug}: share_config: ${error.message}`, { cause: error });
  }
}
