import { z } from "zod";
import { InstructionsText, Permissions } from "../../turnd/protocol/index.ts";
import { ShareConfig } from "./auth.ts";
import { Page, Slug, Time } from "./common.ts";

export const ToolApprovalMode = z.enum(["default", "always_trust"]).meta({ id: "ToolApprovalMode" });
export type ToolApprovalMode = z.infer<typeof ToolApprovalMode>;

/** `provider_id:model_id`, split at the first colon. */
export const ModelSpec = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*:[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/, "provider_id:model_id");

const Limits = z.strictObject({
  timeout_ms: z.int().min(0).max(86_400_000).optional(),
  idle_timeout_ms: z.int().min(0).max(86_400_000).optional(),
});

const fields = {
  name: z.string().trim().min(1).max(100),
  description: z.string().max(2_000),
  mode: z.enum(["execute", "plan", "review", "plan_then_execute"]),
  model_spec: ModelSpec.nullable(),
  allowed_models: z.array(ModelSpec).max(100).nullable(),
  instructions: InstructionsText.meta({
    description:
      "What the model is given in every turn of the agent's threads, besides the instructions of the CLI and of the repository; " +
      "empty for none. A change counts from the next run on. Everyone who may use the agent can read them.",
  }),
  tool_approval_mode: ToolApprovalMode,
  permissions: Permissions,
  limits: Limits,
  knowledge_bases: z
    .array(z.string().regex(/^kb_[0-9a-f]{32}$/, "the id of a knowledge base"))
    .max(16)
    .refine((ids) => new Set(ids).size === ids.length, "each once")
    .meta({
      description:
        "Its turns get tools to list, search, open and find in these, as far as the run's user may read them.",
    }),
  sandbox: z.strictObject({}),
  share_config: ShareConfig,
  is_enabled: z.boolean(),
};

export const Executor = z.enum(["cli-a", "cli-b"]);

export const Agent = z
  .strictObject({
    id: z.int(),
    slug: z.string(),
    executor: Executor,
    ...fields,
    revision: z.int(),
    created_by: z.int().nullable(),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: "Agent" });
export type Agent = z.infer<typeof Agent>;

const optional = z.strictObject(fields).partial().shape;

export const CreateAgentBody = z
  .strictObject({ ...optional, slug: Slug, name: fields.name, executor: Executor })
  .meta({ id: "CreateAgentBody" });
export type CreateAgentBody = z.infer<typeof CreateAgentBody>;

export const UpdateAgentBody = z
  .strictObject({ ...optional, revision: z.int().min(1) })
  .meta({ id: "UpdateAgentBody" });
export type UpdateAgentBody = z.infer<typeof UpdateAgentBody>;

export const AgentPath = z.strictObject({ slug: z.string().min(1).max(64) });
export const AgentListQuery = z.strictObject(Page);
export const AgentList = z.strictObject({ agents: z.array(Agent), total: z.int() }).meta({ id: "AgentList" });
export const AgentAnswer = z.strictObject({ agent: Agent }).meta({ id: "AgentAnswer" });
