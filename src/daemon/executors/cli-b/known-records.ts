import type { RecordTable } from "../drift/drift.ts";
import shapes from "./shapes.json" with { type: "json" };

/** What is known of CLI B's records: `shapes.json`, by type, and by item where there is one: `item.completed/error`. */
export const RECORDS: RecordTable = {
  known: shapes,
  refinedBy: "item",
  // A tool is an item's type here, so one that no table knows is a kind of record that no table knows.
  unmappedTool: () => undefined,
};
