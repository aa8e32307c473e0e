/** The user the CLIs run as. `self` when that is turnd's own user and there is nothing to switch. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
  readonly isSelf: boolean;
}

const SETPRIV = "/usr/bin/setpriv";

/**
 * Prefixes a command so that it runs as the CLIs' user, without groups or capabilities and unable to regain any.
 *
 * @see setpriv(1); docs/contracts/containers.md §1: every other way leaves groups or a bounding set
 */
export function asUser(runAs: RunAs, command: readonly string[]): string[] {
  const identity = runAs.isSelf
    ? []
    : [`--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
  return [SETPRIV, ...identity, "--no-new-privs", "--", ...command];
}
