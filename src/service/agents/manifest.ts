import { createHash } from "node:crypto";
import { z } from "zod";
import type { Transaction } from "../storage/transaction.ts";
import { Instructions, Permissions } from "../../turnd/protocol/index.ts";
import { Executor, ToolApprovalMode } from "../protocol/agents.ts";
import { json } from "../storage/storable.ts";

/** Everything a run needs of its agent, as it was at dispatch. */
export const Manifest = z.strictObject({
  agent_slug: z.string(),
  agent_name: z.string(),
  executor: Executor,
  mode: z.enum(["execute", "plan", "review", "plan_then_execute"]),
  model_spec: z.string().nullable(),
  tool_approval_mode: ToolApprovalMode,
  permissions: Permissions,
  limits: z.strictObject({ timeout_ms: z.int().optional(), idle_timeout_ms: z.int().optional() }),
  /** Absent where there are none. */
  instructions: Instructions.optional(),
  /** Absent where there are none. */
  knowledge_bases: z.array(z.string()).optional(),
});
export type Manifest = z.infer<typeof Manifest>;

/** JSON with the keys in order, so that equal values are equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === "object" && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : entry,
  );
}

/** What a manifest is kept under: equal ones are one row. */
export function digestOf(manifest: Manifest): Buffer {
  return createHash("sha256").update(canonicalJson(manifest)).digest();
}

/** Keeps a manifest under its digest. */
export async function keepManifest(trx: Transaction, manifest: Manifest): Promise<Buffer> {
  const digest = digestOf(manifest);
  await trx
    .insertInto("manifest")
    .values({ digest, body: json(manifest) })
    .onConflict((conflict) => conflict.column("digest").doNothing())
    .execute();
  return digest;
}
