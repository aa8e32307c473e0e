import { defined } from "../../../../kit/defined.ts";
import type { FailureCode } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { ResourcesExhaustedError } from "../../process/exhausted.ts";

/** The failures that turnd finds by itself besides, and when: for people. */
export const OWN_FAILURES: Readonly<Partial<Record<FailureCode, string>>> = {
  executor_unavailable:
    "before a process starts: the CLI, its provider's package or the API it needs of its provider is not there; " +
    "or the CLI would run code of the workspace",
  config_invalid:
    "before a process starts: an MCP server of the session refers to a variable that is not there any more",
  credential_missing: "before a process starts: no key is configured",
  sandbox_unavailable: "before a process starts: the mode needs the CLI's own sandbox, which cannot work here",
  resume_degraded: "before a process starts: the native session's id is none, and the turn is to fail then",
  resources_exhausted:
    "before a process starts: the sandbox has no process, memory or descriptor left for it; " +
    "or the CLI was killed since the turn came to its own limit of memory",
  storage_error: "the home, the turn's files or its log cannot be written",
  crashed: "while a turn is interactive: its server does not take what it is asked any more",
  unknown: "turnd itself failed",
};

/** Nobody saw the process end. */
export const KEEPER_LOST: FailureDraft = {
  ...ownFailure("daemon_stopped", "The sandbox or the turn's keeper stopped while the turn ran."),
  rule: "turnd/keeper_lost",
};

/** Others have taken what a process needs. */
export function exhaustedFailure({ message }: ResourcesExhaustedError): FailureDraft {
  return ownFailure("resources_exhausted", message);
}

/**
 * A failure that turnd itself knows of, without a line of the CLI's to quote.
 *
 * @param remedy - "" where the message names what to do
 */
export function ownFailure(code: FailureCode, message: string, remedy?: string): FailureDraft {
  return {
    code,
    message,
    ...defined({ remedy }),
    evidence: [{ source: "turnd", text: message }],
    isProven: true,
    rule: `turnd/${code}`,
    on: "turnd",
  };
}
