import * as z from "zod";

/**
 * What a session's CLI may not do, and what a turn's may not do in addition. It can only restrict what the operator
 * configured.
 */
export const Permissions = z
  .strictObject({
    edit: z.literal("deny").optional(),
    execute: z.literal("deny").optional(),
    network: z.literal("deny").optional(),
  })
  .meta({ id: "Permissions" });
export type Permissions = z.infer<typeof Permissions>;
