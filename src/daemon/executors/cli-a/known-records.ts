import type { RecordTable } from "../drift/drift.ts";
import shapes from "./shapes.json" with { type: "json" };
import { isKnownTool } from "./translate/tools.ts";

/** What is known of CLI A's records: `shapes.json`, by type. */
export const RECORDS: RecordTable = {
  known: shapes,
  unmappedTool(record) {
    const part = "part" in record ? record.part : undefined;
    if (typeof part !== "object" || part === null || !("tool" in part) || typeof part.tool !== "string") return;
    return isKnownTool(part.tool, "state" in part ? part.state : undefined) ? undefined : part.tool;
  },
};
