import * as z from "zod";

/**
 * What a session's CLI may not do, and what a turn's may not do in addition. It can only restrict what the operator
 * configured.
 */
export const Permissions = z
  .strictObject({
    edit: z.literal("deny").optional().describe("Files may not be changed by the CLI's tools."),
    execute: z.literal("deny").optional().describe("Commands may not be run."),
    network: z.literal("deny").optional().describe("The CLI's tools may not use the network."),
    approval: z
      .literal("ask")
      .optional()
      .describe("A person is asked before a command runs or a file changes: only for turns that are interactive."),
  })
  .meta({
    id: "Permissions",
    description: "What a CLI may not do. It only restricts what the operator has configured; absent is not restricted.",
  });
export type Permissions = z.infer<typeof Permissions>;
