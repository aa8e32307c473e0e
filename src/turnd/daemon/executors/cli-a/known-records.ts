import type { ShapeSource, RecordTable } from "../contract/records.ts";
import shapes from "./shapes.json" with { type: "json" };
import { CliARecord } from "./records/record.ts";
import { isKnownTool, Metadata, Todos } from "./translate/tools.ts";

/** What is known of CLI A's records: `shapes.json`, by type. */
export const RECORDS: RecordTable = {
  known: shapes,
  unmappedTool(record) {
    const part = "part" in record ? record.part : undefined;
    if (typeof part !== "object" || part === null || !("tool" in part) || typeof part.tool !== "string") return;
    return isKnownTool(part.tool, "state" in part ? part.state : undefined) ? undefined : part.tool;
  },
};

/** What `shapes.json` has besides the fields of the recordings. */
export const SHAPE_SOURCE: ShapeSource = {
  pin: "opencode-linux-x64",
  reads: CliARecord,
  readsWithin: { "part.state.metadata": [Metadata, Todos] },
  // In a git work tree, of a search, of a long output, of a compacted call. Source: docs/contracts/cli-a.md §1, §1.1.
  documented: [
    "step_start part.snapshot",
    "step_finish part.snapshot",
    "text part.metadata",
    "reasoning part.metadata",
    "tool_use part.metadata",
    "tool_use part.state.metadata.count",
    "tool_use part.state.metadata.matches",
    "tool_use part.state.metadata.outputPath",
    "tool_use part.state.time.compacted",
    "error error.data.providerID",
    "error error.data.retries",
  ],
  open: ["part.metadata", "part.state.metadata.diagnostics", "error.data.responseHeaders", "error.data.metadata"],
};
