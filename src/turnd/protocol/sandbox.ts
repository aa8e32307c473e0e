import * as z from "zod";

/** The limits that each turn and each shell has for itself. */
export const TurnLimitsInfo = z
  .strictObject({
    enforced: z.boolean().meta({ description: "Whether each turn and shell has a control group of its own." }),
    reason: z
      .string()
      .optional()
      .meta({ description: "Why not; then the sandbox's own limits apply to all together." }),
    max_processes: z.int().optional().meta({ description: "Processes and threads of one; absent: no limit." }),
    memory_mb: z.int().optional().meta({ description: "MiB of one; absent: no limit." }),
  })
  .meta({ id: "TurnLimitsInfo", description: "The limits that each turn and each shell has for itself." });
export type TurnLimitsInfo = z.infer<typeof TurnLimitsInfo>;

/** The machine that turnd runs in, as `GET /v1/sandbox` reports it. */
export const SandboxInfo = z
  .strictObject({
    version: z.string().describe("turnd's version."),
    home_dir: z.string().describe("Home of the CLIs' user."),
    workspace: z
      .string()
      .describe(
        "Root of the workspaces, `TURND_WORKSPACE`: sessions that name no directory of their own work below it, or in it.",
      ),
    run_as: z
      .strictObject({ uid: z.int().describe("User id."), gid: z.int().describe("Group id.") })
      .describe("Who the CLIs run as."),
    subreaper: z
      .boolean()
      .meta({ description: "Whether keepers can adopt escaped processes; without it ending them is best effort." }),
    turn_limits: TurnLimitsInfo,
    warnings: z.array(z.string()).describe("What is odd about this machine or its settings."),
  })
  .meta({ id: "SandboxInfo", description: "The machine that turnd runs in." });
export type SandboxInfo = z.infer<typeof SandboxInfo>;

/** Whether a turn could run now. */
export const Readiness = z
  .strictObject({
    ready: z.boolean().describe("Whether a turn could run now."),
    checks: z
      .array(
        z.strictObject({
          name: z.string().describe("What was looked at."),
          ok: z.boolean().describe("Whether it is as it has to be."),
          message: z.string().optional().describe("Why not."),
        }),
      )
      .describe("What that depends on."),
  })
  .meta({ id: "Readiness", description: "Whether a turn could run now, and why not." });
export type Readiness = z.infer<typeof Readiness>;
