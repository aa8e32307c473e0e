/** Features that a binary knows, each with the stage it is in: `stable`, `deprecated`, `removed`. */
export type CliFeatures = Readonly<Record<string, string>>;

/** How a binary is asked which features it knows: what may be switched off differs by version. */
export interface FeatureQuestion {
  readonly args: readonly string[];
  /** Reads what it printed; undefined when that is no list. */
  read(stdout: string): CliFeatures | undefined;
}
