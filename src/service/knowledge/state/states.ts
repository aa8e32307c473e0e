import type { KnowledgeFileStatus as Status } from "../../storage/knowledge-tables.ts";

/** The two kinds of work on a file. */
export type Work = "parse" | "index";

/**
 * The states of a file, as data: what each kind of work takes, and where it leads.
 *
 * `claims.ts` is the only writer of `knowledge_file.status`. Source: docs/knowledge.md, states.
 */
export const WORK = {
  parse: {
    during: "parsing",
    done: "parsed",
    failed: "error_parsing",
    by: "parsed_by",
    /** Taken by name. */
    takes: ["uploaded", "error_parsing"],
    /** Taken besides with `force`. */
    forced: ["parsed", "indexed", "error_indexing"],
    /** Taken by state. */
    pending: ["uploaded"],
    /** Taken by state besides with `include_failed`. */
    failedBefore: ["error_parsing"],
  },
  index: {
    during: "indexing",
    done: "indexed",
    failed: "error_indexing",
    by: "indexed_by",
    takes: ["parsed", "error_indexing", "indexed"],
    forced: [],
    pending: ["parsed", "error_indexing"],
    failedBefore: [],
  },
} as const satisfies Readonly<Record<Work, WorkRow>>;

interface WorkRow {
  readonly during: Status;
  readonly done: Status;
  readonly failed: Status;
  readonly by: "parsed_by" | "indexed_by";
  readonly takes: readonly Status[];
  readonly forced: readonly Status[];
  readonly pending: readonly Status[];
  readonly failedBefore: readonly Status[];
}

/** The states that a task takes: of files that are named, or by state. */
export function statesTaken(
  work: Work,
  options: { readonly force?: boolean; readonly pending?: boolean; readonly includeFailed?: boolean },
): readonly Status[] {
  const { takes, forced, pending, failedBefore } = WORK[work];
  if (options.pending === true) return options.includeFailed === true ? [...pending, ...failedBefore] : pending;
  return options.force === true ? [...takes, ...forced] : takes;
}

/** Claims in a row without a finish; the next one puts the file aside: it takes its worker down. */
export const MOST_TRIES = 5;
