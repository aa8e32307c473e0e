import * as z from "zod";
import { Drift } from "./drift.ts";

/**
 * The id of a CLI, as events and recordings carry it.
 *
 * Which ids there are is decided by the registry of the daemon that is asked: it refuses others, and its OpenAPI
 * document lists its own.
 */
export const CliName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, "lower-case letters, digits and -, beginning with a letter, at most 32")
  .meta({ id: "CliName" });
export type CliName = z.infer<typeof CliName>;

/**
 * An executor as a request names it: by its id, or by what the CLI's own program is called. Answers and events carry the id.
 */
export const RequestedExecutor = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, "lower-case letters, digits and -, beginning with a letter, at most 32")
  .meta({ id: "RequestedExecutor" });
export type RequestedExecutor = z.infer<typeof RequestedExecutor>;

/** What plays a recording, beside the CLIs; no CLI may have this id. */
export const REPLAY = "replay";

/** What runs a turn: a CLI, or `replay`, which plays a recording of one. */
export const ExecutorName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/)
  .meta({ id: "ExecutorName" });
export type ExecutorName = z.infer<typeof ExecutorName>;

/** What a turn may be asked to do. */
export const Mode = z.enum(["execute", "plan", "review"]).meta({
  id: "Mode",
  description: "`execute` may change the workspace, `plan` only reads, `review` reviews uncommitted changes.",
});
export type Mode = z.infer<typeof Mode>;

/** What a CLI can do; a request for anything else is refused. */
export const Capabilities = z
  .strictObject({
    modes: z.array(Mode),
    images: z.boolean(),
    output_schema: z.boolean(),
    agents: z.boolean(),
    effort: z.boolean(),
    resume: z.boolean(),
    permissions: z.boolean(),
    mcp_servers: z.boolean(),
    instructions: z.boolean(),
  })
  .meta({ id: "Capabilities" });
export type Capabilities = z.infer<typeof Capabilities>;

/** One key of the effective configuration: secrets masked, `origin` names the variable (or `turnd`) it comes from. */
export const EffectiveSetting = z
  .strictObject({ key: z.string(), value: z.unknown(), origin: z.string() })
  .meta({ id: "EffectiveSetting" });
export type EffectiveSetting = z.infer<typeof EffectiveSetting>;

/** One executor as `GET /v1/executors/{id}` describes it. */
export const ExecutorInfo = z
  .strictObject({
    id: CliName,
    name: z.string().meta({ description: "What the CLI is called in this image." }),
    available: z.boolean(),
    unavailable: z
      .strictObject({ code: z.string(), message: z.string() })
      .optional()
      .meta({ description: "Why not, when not available; turns end as failed with this code." }),
    binary: z.string().optional(),
    version: z.string().optional(),
    checking: z
      .boolean()
      .optional()
      .meta({
        description:
          "True while turnd waits for what it has asked the CLI or its provider: the rest is what the look before has shown, or " +
          "what is known without one, which is neither `binary` nor `version`. Ask again later.",
      }),
    contract_version: z.string().meta({ description: "The version turnd was measured against." }),
    capabilities: Capabilities,
    sandbox: z.strictObject({ works: z.boolean(), message: z.string().optional() }).optional().meta({
      description: "Whether the CLI's own sandbox can work here; absent where an execution turn does not use it.",
    }),
    provider: z
      .strictObject({
        url: z.string(),
        api: z.enum(["present", "absent", "unproven"]),
        message: z.string(),
        checked_at: z.iso.datetime(),
      })
      .optional()
      .meta({
        description:
          "Whether the provider speaks the API this CLI needs, by a request that costs no tokens; absent where it was " +
          "not asked. `unproven` keeps no turn from running.",
      }),
    configuration: z.array(EffectiveSetting),
    warnings: z.array(z.string()),
    drift: z.array(Drift).meta({
      description:
        "What turns since turnd's start printed that turnd does not know, by version of the CLI. `turnd replay --summary` shows it for any recording.",
    }),
  })
  .meta({ id: "ExecutorInfo" });
export type ExecutorInfo = z.infer<typeof ExecutorInfo>;
