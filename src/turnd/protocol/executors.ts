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
  .meta({ id: "CliName", description: "The id of a CLI." });
export type CliName = z.infer<typeof CliName>;

/**
 * An executor as a request names it: by its id, or by what the CLI's own program is called. Answers and events carry the id.
 */
export const RequestedExecutor = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, "lower-case letters, digits and -, beginning with a letter, at most 32")
  .meta({ id: "RequestedExecutor", description: "A CLI as a request names it: by its id or its program's name." });
export type RequestedExecutor = z.infer<typeof RequestedExecutor>;

/** What plays a recording, beside the CLIs; no CLI may have this id. */
export const REPLAY = "replay";

/** What runs a turn: a CLI, or `replay`, which plays a recording of one. */
export const ExecutorName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/)
  .meta({ id: "ExecutorName", description: "What runs a turn: a CLI, or `replay`, which plays a recording of one." });
export type ExecutorName = z.infer<typeof ExecutorName>;

/** What a turn may be asked to do. */
export const Mode = z.enum(["execute", "plan", "review"]).meta({
  id: "Mode",
  description: "`execute` may change the workspace, `plan` only reads, `review` reviews uncommitted changes.",
});
export type Mode = z.infer<typeof Mode>;

/** How a CLI is driven. */
export const Transport = z.enum(["headless", "interactive"]).meta({
  id: "Transport",
  description:
    "How a CLI is driven. `headless`: a process for each turn. `interactive`: one server for the turns of a session; the answer " +
    "streams, and people can approve and answer.",
});
export type Transport = z.infer<typeof Transport>;

/** How a session or a turn asks to be driven. */
export const RequestedTransport = z.enum(["auto", ...Transport.options]).meta({
  id: "RequestedTransport",
  description:
    "How the CLI is to be driven. `auto`: interactive where turnd has measured the CLI's version and its configuration allows " +
    "it. Where `interactive` cannot be, the turn is headless, with a `warning` (`transport_fallback`).",
});
export type RequestedTransport = z.infer<typeof RequestedTransport>;

/** What a CLI can do; a request for anything else is refused. */
export const Capabilities = z
  .strictObject({
    modes: z.array(Mode).describe("Modes that a turn may ask for."),
    images: z.boolean().describe("Whether `input` may have images."),
    output_schema: z.boolean().describe("Whether a turn may set `output_schema`."),
    agents: z.boolean().describe("Whether a turn may choose an `agent`."),
    effort: z.boolean().describe("Whether a turn may set `effort`."),
    resume: z.boolean().describe("Whether a session continues the CLI's own conversation."),
    permissions: z.boolean().describe("Whether sessions and turns may deny permissions."),
    mcp_servers: z.boolean().describe("Whether turns may bring MCP servers."),
    instructions: z.boolean().describe("Whether sessions and turns may bring instructions."),
    approvals: z.boolean().describe("Whether sessions and turns may ask before anything is done."),
  })
  .meta({ id: "Capabilities", description: "What a CLI can do; a request for anything else is refused." });
export type Capabilities = z.infer<typeof Capabilities>;

/** One key of the effective configuration: secrets masked, `origin` names the variable (or `turnd`) it comes from. */
export const EffectiveSetting = z
  .strictObject({
    key: z.string().describe("The key in the CLI's configuration, its parts joined by dots."),
    value: z.unknown().describe("Its value, secrets masked."),
    origin: z.string().describe("The variable it comes from, or `turnd`."),
  })
  .meta({ id: "EffectiveSetting", description: "One key of a CLI's effective configuration." });
export type EffectiveSetting = z.infer<typeof EffectiveSetting>;

/** One executor as `GET /v1/executors/{id}` describes it. */
export const ExecutorInfo = z
  .strictObject({
    id: CliName,
    name: z.string().meta({ description: "What the CLI is called in this image." }),
    available: z.boolean().describe("Whether it can run turns."),
    unavailable: z
      .strictObject({
        code: z.string().describe("A failure code, such as `executor_unavailable`."),
        message: z.string().describe("What is missing and what to set."),
      })
      .optional()
      .meta({ description: "Why not, when not available; turns end as failed with this code." }),
    binary: z.string().optional().describe("The file that is started."),
    version: z.string().optional().describe("The version that the binary reports."),
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
    sandbox: z
      .strictObject({
        works: z.boolean().describe("Whether it can work."),
        message: z.string().optional().describe("Why not, or what to change."),
      })
      .optional()
      .meta({
        description: "Whether the CLI's own sandbox can work here; absent where an execution turn does not use it.",
      }),
    provider: z
      .strictObject({
        url: z.string().describe("What was asked."),
        api: z.enum(["present", "absent", "unproven"]).describe("What the answer shows."),
        message: z.string().describe("What it answered, in a sentence."),
        checked_at: z.iso.datetime().describe("When it was asked, UTC."),
      })
      .optional()
      .meta({
        description:
          "Whether the provider speaks the API this CLI needs, by a request that costs no tokens; absent where it was " +
          "not asked. `unproven` keeps no turn from running.",
      }),
    transport: z
      .strictObject({
        by_default: Transport.describe("How turns are driven that do not ask for one."),
        interactive: z.boolean().describe("Whether turns can be interactive."),
        reason: z.string().optional().describe("Why not."),
      })
      .describe("How its turns are driven."),
    configuration: z.array(EffectiveSetting).describe("The effective configuration, secrets masked."),
    warnings: z.array(z.string()).describe("What is odd about the configuration."),
    drift: z.array(Drift).meta({
      description:
        "What turns since turnd's start printed that turnd does not know, by version of the CLI. `turnd replay --summary` shows it for any recording.",
    }),
  })
  .meta({ id: "ExecutorInfo", description: "A CLI: whether it can run turns, or what to set so that it can." });
export type ExecutorInfo = z.infer<typeof ExecutorInfo>;
