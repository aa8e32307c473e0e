import type { ShapeSource, RecordTable } from "../contract/records.ts";
import shapes from "./shapes.json" with { type: "json" };
import { CliBRecord } from "./records/record.ts";

/** What is known of CLI B's records: `shapes.json`, by type, and by item where there is one: `item.completed/error`. */
export const RECORDS: RecordTable = {
  known: shapes,
  refinedBy: "item",
  // A tool is an item's type here, so one that no table knows is a kind of record that no table knows.
  unmappedTool: () => undefined,
};

/** What `shapes.json` has besides the fields of the recordings. */
export const SHAPE_SOURCE: ShapeSource = {
  pin: "codex-linux-x64",
  reads: CliBRecord,
  readsWithin: {},
  documented: [],
  open: ["item.result.content[]", "item.result.structured_content"],
};
