import * as z from "zod";

/** One line of what a CLI has printed. */
export const RawRecord = z
  .strictObject({
    line: z.int().positive().meta({ description: "1-based, as in an event's `native.line`." }),
    text: z.string().meta({ description: "Without its newline; bytes that are no UTF-8 are U+FFFD." }),
    bytes: z
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "Bytes of the whole line, where `text` is only its beginning." }),
  })
  .meta({ id: "RawRecord", description: "One line of what a CLI has printed." });
export type RawRecord = z.infer<typeof RawRecord>;

/** Some of a turn's raw output. */
export const RawRecords = z
  .strictObject({
    turn_id: z.string().describe("The turn's id."),
    source: z.enum(["stdout", "stderr"]).describe("Which output it is."),
    records: z.array(RawRecord).describe("The lines, in order."),
    has_more: z.boolean().meta({ description: "Whether more lines follow now; a running turn may print others." }),
  })
  .meta({ id: "RawRecords", description: "Some of what a turn's CLI has printed." });
export type RawRecords = z.infer<typeof RawRecords>;
