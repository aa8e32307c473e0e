/** How a CLI is kept from running code of a workspace. A binary in which it is not proven to work runs no turn. */
export interface CodeGuard {
  /** Added to the environment of `--version`, so that the binary itself shows whether the guard works in it. */
  readonly env: Readonly<Record<string, string>>;
  /** @param stderr - what `--version` printed there */
  isProven(stderr: string): boolean;
}
