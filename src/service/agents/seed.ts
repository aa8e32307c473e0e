import { readFile } from "node:fs/promises";
import { z } from "zod";
import { CreateAgentBody } from "../api/agents.ts";
import { checkShareConfig, DEFAULT_SHARE } from "../auth/scopes.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";

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

/** Puts agents in place by slug; the defaults only where there is no agent at all. */
export async function putAgents(
  storage: Storage,
  { agents, isDefault }: { agents: readonly SeedAgent[]; isDefault: boolean },
): Promise<void> {
  await storage.transaction(async (trx) => {
    if (isDefault && (await trx.selectFrom("agent").select("id").limit(1).executeTakeFirst()) !== undefined) return;
    for (const agent of agents) {
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
        share_config: json(checkShareConfig(agent.share_config ?? DEFAULT_SHARE)),
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
