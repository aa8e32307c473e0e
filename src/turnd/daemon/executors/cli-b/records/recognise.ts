import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import type { RecordSign } from "../../contract/record-sign.ts";

const item = z.object({ id: z.string(), type: z.string() });

/**
 * What is enough to tell its records from those of others; an item's type is not, since versions add some.
 *
 * `turn.started` and `turn.completed` are also events of turnd, which have a `seq`. Source: docs/contracts/cli-b.md §2.1.
 */
const Known = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thread.started"), thread_id: z.string() }),
  z.object({ type: z.literal("turn.started"), seq: z.undefined() }),
  z.object({ type: z.literal("item.started"), item }),
  z.object({ type: z.literal("item.updated"), item }),
  z.object({ type: z.literal("item.completed"), item }),
  z.object({
    type: z.literal("turn.completed"),
    seq: z.undefined(),
    usage: z.record(z.string(), z.unknown()).optional().catch(undefined),
  }),
  z.object({ type: z.literal("turn.failed"), error: z.object({ message: z.string() }) }),
  z.object({ type: z.literal("error"), message: z.string(), sessionID: z.undefined() }),
]);

/** Recognises a record of CLI B among those of other CLIs. */
export function recogniseRecord(record: unknown): RecordSign | undefined {
  const known = Known.safeParse(record).data;
  if (known === undefined) return undefined;
  if (known.type === "thread.started") return { session: known.thread_id, beginsRun: true };
  const printedLike = known.type === "turn.completed" ? readForm(known.usage) : undefined;
  return defined({ printedLike });
}

/** 0.169.0 counts tokens that were written to a cache; 0.139.0 does not. Source: the recordings, and `turnd probe`. */
function readForm(usage: object | undefined): string | undefined {
  return usage === undefined || "cache_write_input_tokens" in usage ? undefined : "0.139.0";
}
