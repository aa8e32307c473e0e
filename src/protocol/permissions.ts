import { z } from "zod";

/** What a session's CLI may not do, and what a turn's may not do besides. It can only tighten what the operator configured. */
export const Permissions = z
  .strictObject({
    edit: z.literal("deny").optional(),
    execute: z.literal("deny").optional(),
    network: z.literal("deny").optional(),
  })
  .meta({ id: "Permissions" });
export type Permissions = z.infer<typeof Permissions>;
