/** How a CLI is kept from running code of a workspace, where its own switches do not keep it. */
export interface CodeGuard {
  /** Added to the environment of `--version`, so that the binary itself shows whether the guard works in it. */
  readonly env: Readonly<Record<string, string>>;
  /** @param stderr - what `--version` printed there */
  isProven(stderr: string): boolean;
  /** Whether a binary of this version may run turns only with that proof. */
  isNeeded(version: string): boolean;
}
