import { join } from "node:path";

/** The user the CLIs run as. `isSelf` when that is turnd's own user and there is nothing to switch. */
export interface CliUser {
  readonly uid: number;
  readonly gid: number;
  readonly isSelf: boolean;
}

/** How turnd has something done as that user. */
export interface RunAs extends CliUser {
  /** Absolute path of `sandbox/helper`, which does it. */
  readonly helper: string;
}

/** @param sandboxDirectory - `sandbox/` */
export function toRunAs({ uid, gid, isSelf }: CliUser, sandboxDirectory: string): RunAs {
  return { uid, gid, isSelf, helper: join(sandboxDirectory, "helper") };
}

const SETPRIV = "/usr/bin/setpriv";

/**
 * Prefixes a command so that it runs as the CLIs' user, without groups or capabilities and unable to regain any. Only for
 * what a keeper starts: everything else is a task of `startAsUser`.
 *
 * @see setpriv(1); docs/contracts/containers.md §1: every other way leaves groups or a bounding set
 */
export function asUser(runAs: CliUser, command: readonly string[]): string[] {
  const identity = runAs.isSelf
    ? []
    : [`--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
  return [SETPRIV, ...identity, "--no-new-privs", "--", ...command];
}
