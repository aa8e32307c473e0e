import type { Command } from "commander";
import type { ExitCode, Host } from "./host.ts";

/** What the definition of a command is added to. */
export interface CommandLine {
  readonly program: Command;
  /** At the end of the help of each command that needs settings. */
  readonly settingsHint: string;
  /** Runs what a command does, once its arguments are known to be right; what it resolves with ends the process. */
  perform(work: Work): Promise<void>;
}

/** What a command does. What it needs is loaded in it: no command pays for another one. */
export type Work = (host: Host) => Promise<ExitCode>;
