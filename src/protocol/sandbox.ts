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
  .meta({ id: "TurnLimitsInfo" });
export type TurnLimitsInfo = z.infer<typeof TurnLimitsInfo>;

/** The machine that turnd runs in, as `GET /v1/sandbox` reports it. */
export const SandboxInfo = z
  .strictObject({
    version: z.string(),
    home_dir: z.string(),
    workspace: z.string(),
    run_as: z.strictObject({ uid: z.int(), gid: z.int() }),
    subreaper: z
      .boolean()
      .meta({ description: "Whether keepers can adopt escaped processes; without it ending them is best effort." }),
    turn_limits: TurnLimitsInfo,
    warnings: z.array(z.string()),
  })
  .meta({ id: "SandboxInfo" });
export type SandboxInfo = z.infer<typeof SandboxInfo>;

/** Whether a turn could run now. */
export const Readiness = z
  .strictObject({
    ready: z.boolean(),
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), message: z.string().optional() })),
  })
  .meta({ id: "Readiness" });
export type Readiness = z.infer<typeof Readiness>;
