import type { Mode, Permissions } from "../../../protocol/index.ts";
import type { Configuration } from "./configuration.ts";

/** A command that ends with 0 where the CLI's sandbox works. It runs as the CLI's user. */
export interface SandboxCheck {
  readonly args: readonly string[];
  /** Whether a turn in this mode needs the sandbox under this configuration; a session's permissions can call for it. */
  isNeeded(configuration: Configuration, mode: Mode, permissions?: Permissions): boolean;
  /** What its stderr says where it does not end so. */
  readFault(stderr: string): SandboxFault;
  /** How an operator switches it off for execution turns, to be read after "or "; absent where that is impossible. */
  readonly switchOff?: string;
}

/** Why a CLI's sandbox does not work. */
export interface SandboxFault {
  /** "" where it does not say. */
  readonly message: string;
  /** What helps in place of more rights for the container. */
  readonly remedy?: string;
}
