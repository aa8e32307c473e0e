import type { Command } from "commander";
import type { ExitCode, Host } from "./host.ts";

/** The program that definitions of commands are added to. */
export interface CommandLine {
  readonly program: Command;
  /** At the end of the help of each command that needs settings. */
  readonly settingsHint: string;
  /** Runs a command once its arguments are valid; it resolves with the exit code. */
  perform(work: Work): Promise<void>;
}

/** The action of a command. It loads what it needs itself, so that no other command does. */
export type Work = (host: Host) => Promise<ExitCode>;
