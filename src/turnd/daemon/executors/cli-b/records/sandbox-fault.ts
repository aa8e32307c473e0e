import type { SandboxFault } from "../../contract/sandbox-check.ts";
import { readPanicReason } from "./panic.ts";

/** Its helper says so itself; where that panics, the place shows who did. */
const FAULT = /^bwrap: .*/m;
const PANIC = /^thread '.*panicked at \S*linux-sandbox\S*:\d+:\d+:[^]*/m;

/** The sandbox's own program is not there: no right of the container helps then. */
export const SANDBOX_MISSING = /\bbubblewrap is unavailable\b/;

/** What to do where the binary was installed alone, to be read after "; ". */
export const SANDBOX_MISSING_REMEDY =
  "have the operator install the CLI's whole package, with codex-resources/bwrap beside the binary, or bubblewrap on PATH";

/** Why the CLI's sandbox could not be created, by what a command in it printed; undefined where that was something else. */
export function readSandboxFault(printed: string): string | undefined {
  const panic = PANIC.exec(printed)?.[0];
  return FAULT.exec(printed)?.[0] ?? (panic === undefined ? undefined : readPanicReason(panic));
}

/** The same of `codex sandbox`, of which nothing else is on stderr: its last line, where the fault has no known form. */
export function explainSandboxCheck(stderr: string): SandboxFault {
  const message = readSandboxFault(stderr) ?? stderr.trim().split("\n").at(-1) ?? "";
  return SANDBOX_MISSING.test(message) ? { message, remedy: SANDBOX_MISSING_REMEDY } : { message };
}
