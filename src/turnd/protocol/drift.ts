import * as z from "zod";

/** One thing a CLI printed that this turnd does not know. */
export const DriftEntry = z
  .strictObject({
    what: z.enum(["type", "field", "tool"]).meta({
      description:
        "`type`: a kind of record without a translation. `field`: neither read nor in a recording of the known version. `tool`: in none of turnd's tables, so the `kind` of its events is `other` or a guess.",
    }),
    name: z.string().meta({
      description: "The type, the tool, or the field after the kind of record that contains it: `text part.added`.",
    }),
    count: z.int().positive().describe("How often it was printed."),
    first_seen: z
      .strictObject({
        in: z.string().describe("Id of the turn, or the recording."),
        line: z.int().positive().describe("1-based line of its stdout."),
      })
      .meta({ description: "The turn or the recording, and the line of its stdout." }),
  })
  .meta({ id: "DriftEntry", description: "One thing a CLI printed that this turnd does not know." });
export type DriftEntry = z.infer<typeof DriftEntry>;

/** What one version of a CLI printed that this turnd does not know. */
export const Drift = z
  .strictObject({
    cli_version: z.string().meta({ description: "`unknown` where nothing says." }),
    known_version: z.string().meta({ description: "The version whose recordings define what is known." }),
    records: z.int().nonnegative().meta({ description: "Records that were examined." }),
    entries: z.array(DriftEntry).describe("What was not known, each once."),
    more: z
      .int()
      .nonnegative()
      .meta({ description: "Occurrences of further entries, beyond the limit of different ones." }),
  })
  .meta({ id: "Drift", description: "What one version of a CLI printed that this turnd does not know." });
export type Drift = z.infer<typeof Drift>;
