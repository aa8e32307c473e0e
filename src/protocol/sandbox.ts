import { z } from "zod";

/** What `GET /v1/sandbox` tells of the machine turnd runs in. */
export const SandboxInfo = z
  .strictObject({
    version: z.string(),
    home_dir: z.string(),
    workspace: z.string(),
    run_as: z.strictObject({ uid: z.int(), gid: z.int() }),
    subreaper: z
      .boolean()
      .meta({ description: "Whether keepers can adopt what escapes; without it sweeping is best effort." }),
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
