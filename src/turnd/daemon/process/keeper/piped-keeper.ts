import type { Readable, Writable } from "node:stream";
import { execa } from "execa";
import { keeperArgs, keeperOptions, PERL, waitForStart, type KeptCommand, type StartedProcess } from "./keeper.ts";

/** A command under a keeper, with turnd at the other end of its stdin and stdout. */
export interface PipedCommand {
  readonly started: StartedProcess;
  readonly stdin: Writable;
  /** Paused at first. Ends when no process of the tree holds it; the keeper does not hold it. */
  readonly stdout: Readable;
}

/**
 * Starts a command under a keeper of its own with pipes to it, as turnd's own user; the command switches users itself.
 * The working directory is still entered with the rights of `runAs`.
 *
 * The keeper outlives this process; the closed pipes show the command that this process has gone.
 * @throws {KeeperError} if the keeper could not do its work
 * @throws {GroupError} if the command could not be put into its control group
 * @throws {ResourcesExhaustedError} if the keeper or the command could get no process
 */
export async function startKeptOnPipes(kept: KeptCommand): Promise<PipedCommand> {
  const keeper = execa(PERL, keeperArgs(kept), {
    ...keeperOptions(kept),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  // A command that has ended reads nothing more; the other pipe reports its end.
  keeper.stdin.on("error", () => {});
  // Stays paused until there is a reader: execa discards what is not read.
  keeper.stdout.pause();
  try {
    const started = await waitForStart(kept.directory, keeper);
    return { started, stdin: keeper.stdin, stdout: keeper.stdout };
  } catch (error) {
    keeper.stdin.destroy();
    keeper.stdout.destroy();
    throw error;
  }
}
