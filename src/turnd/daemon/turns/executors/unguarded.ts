import type { Executor } from "../../executors/contract/executor.ts";
import type { LocatedCli } from "./located.ts";

/** Why a binary runs no turns: a repository's code would run in it. */
export interface GuardFault {
  readonly message: string;
  readonly remedy: string;
}

/**
 * Whether a binary would run code of a workspace.
 *
 * @returns undefined where the executor's `codeGuard` works in it, or is not wanted
 */
export function describeUnguarded(
  { codeGuard }: Executor,
  cliName: string,
  located: LocatedCli & { readonly ok: true },
): GuardFault | undefined {
  const { guard, version, path } = located;
  if (codeGuard === undefined || guard === undefined || guard === "proven") return undefined;
  const why = guard === "failed" ? "turnd's guard fails in it" : "it ignores turnd's guard";
  return {
    message: `${cliName} ${version} would run code of the workspace: ${why} (${path}).`,
    remedy: "install a version that turnd was measured with, or accept it by TURND_ALLOW_WORKSPACE_PLUGINS=1",
  };
}
