/** A directory of a session's home in which nothing stays but what has one of these names, plain files and directories. */
export interface KeptDirectory {
  /** Relative to the session's home. */
  readonly path: string;
  readonly names: readonly string[];
  /** What the CLI makes anew: removed without a warning. A name that ends in `*` stands for all that begin so. */
  readonly made: readonly string[];
}

/** Files of JSON lines below a path, `.jsonl` each: what may stand in some of their objects. Nothing else stays there. */
export interface TidyLines {
  /** Relative to the session's home. */
  readonly path: string;
  readonly rules: readonly LineRule[];
}

/**
 * Of every line of a type: the object that loses all members but some. Paths within a line have dots. A line in which `path`
 * leads to something else than an object is taken out.
 */
export interface LineRule {
  readonly typePath: string;
  readonly type: string;
  readonly path: string;
  readonly names: readonly string[];
  /** What the CLI writes and a resume does not need: taken out without a warning. */
  readonly dropped: readonly string[];
  /** Members that have this value in every such object. */
  readonly set?: Readonly<Record<string, string>>;
}
