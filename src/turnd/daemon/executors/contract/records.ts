import type { z } from "zod";

/** What shows whether a record of a CLI is known. */
export interface RecordTable {
  readonly known: KnownShapes;
  /** The field that names a record's type; absent: `type`. */
  readonly typeField?: string;
  /** The field whose own type distinguishes records of one type: `item`. */
  readonly refinedBy?: string;
  /** The tool of a call that no table knows: the kind of its events is a guess. */
  unmappedTool(record: object): string | undefined;
}

/** Looks at one record, as parsed, and the number of its line. */
export type DriftWatch = (record: unknown, line: number) => void;

/** What the recordings of the supported versions show and the translator reads: `shapes.json`, written by `scripts/generate/shapes.ts`. */
export interface KnownShapes {
  readonly version: string;
  readonly kinds: Readonly<Record<string, KnownFields>>;
}

/**
 * The fields that records of one kind are known to have: path to what is there, as `"number|null read"`.
 *
 * A path is `part.state.metadata.files[].type`; `*` stands for any key. First come the JSON types that recordings show
 * (`unseen` when none does), then marks: `read`, the translator uses it; `open`, what is below is not the CLI's own, such
 * as the arguments of a tool; `map`, its keys are names, not fields.
 */
export type KnownFields = Readonly<Record<string, string>>;

/** The fields that show the kind of a record. */
export interface KindFields {
  /** The field that names its type; absent: `type`. */
  readonly typeField?: string;
  /** The field whose own type distinguishes records of one type. */
  readonly refinedBy?: string;
}

/** What is known of a CLI's records that its recordings do not show. */
export interface ShapeSource {
  /**
   * The package of `sandbox/package.json` that pins the version that what is known is named by; absent: `contractVersion`.
   * The recordings of `contractVersion` and later count.
   */
  readonly pin?: string;
  /** What the translator reads of a record. */
  readonly reads: z.ZodType;
  /** What it reads of a part that this schema leaves open. */
  readonly readsWithin: Readonly<Record<string, readonly z.ZodType[]>>;
  /** Measured on the pinned version, but in none of its recordings: `<kind> <path>`. */
  readonly documented: readonly string[];
  /** What is not the CLI's own: whatever a provider, a tool's server or a language server puts there. */
  readonly open: readonly string[];
}
