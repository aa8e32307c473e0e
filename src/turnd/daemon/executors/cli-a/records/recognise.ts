import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import type { RecordSign } from "../../contract/record-sign.ts";

/** What all its records have, in every measured version. Source: docs/contracts/cli-a.md §1. */
const Envelope = z.object({
  type: z.enum(["step_start", "step_finish", "text", "reasoning", "tool_use", "error"]),
  timestamp: z.number(),
  sessionID: z.string().startsWith("ses_"),
  part: z.looseObject({}).optional().catch(undefined),
});

/**
 * Recognises a record of CLI A among those of other CLIs.
 *
 * The order of the keys of `part` distinguishes 1.3.2 and 1.14.34: `id`, `sessionID` first, or `type`, or `id` and
 * `messageID` or `reason`. 1.18.33 prints as 1.14.34 does. Source: the recordings of these versions.
 */
export function recogniseRecord(record: unknown): RecordSign | undefined {
  const read = Envelope.safeParse(record);
  if (!read.success) return undefined;
  const printedLike = readForm(read.data.part);
  return { session: read.data.sessionID, ...defined({ printedLike }) };
}

function readForm(part: object | undefined): string | undefined {
  const [first, second] = Object.keys(part ?? {});
  if (first === "type") return "1.14.34";
  if (first !== "id") return undefined;
  if (second === "sessionID") return "1.3.2";
  return second === "messageID" || second === "reason" ? "1.14.34" : undefined;
}
