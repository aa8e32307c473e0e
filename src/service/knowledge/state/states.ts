import type { KnowledgeFileStatus as Status } from "../../storage/knowledge-tables.ts";

/** The two kinds of work on a file. */
export type FileWork = "parse" | "index";

/**
 * The states of a file, as data: the states in which each kind of work may begin, and where it leads.
 *
 * `claims.ts` is the only writer of `knowledge_file.status`. Source: docs/knowledge.md, states.
 */
export const FILE_WORK = {
  parse: {
    during: "parsing",
    done: "parsed",
    failed: "error_parsing",
    by: "parsed_by",
    /** States in which a file that is named is claimed. */
    takes: ["uploaded", "error_parsing"],
    /** The same with `force`. */
    forced: ["parsed", "indexed", "error_indexing"],
    /** States in which files are claimed that are chosen by state. */
    pending: ["uploaded"],
    /** The same with `include_failed`. */
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
} as const satisfies Readonly<Record<FileWork, WorkRow>>;

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
export function statesOf(
  work: FileWork,
  options: { readonly force?: boolean; readonly pending?: boolean; readonly includeFailed?: boolean },
): readonly Status[] {
  const { takes, forced, pending, failedBefore } = FILE_WORK[work];
  if (options.pending === true) return options.includeFailed === true ? [...pending, ...failedBefore] : pending;
  return options.force === true ? [...takes, ...forced] : takes;
}

/** Claims in a row without a finish; the next one puts the file aside: it takes its worker down. */
export const MOST_TRIES = 5;
