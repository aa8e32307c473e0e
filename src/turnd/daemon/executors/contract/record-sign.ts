/** What one record shows about the run that printed it. */
export interface RecordSign {
  /** The native session that it names. */
  readonly session?: string;
  /** True for a record that a process prints once, before all others. */
  readonly beginsRun?: boolean;
  /** The measured version whose records have this form; absent where the form shows none. Later versions may have it too. */
  readonly printedLike?: string;
}
