import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { exitCodeOfEnd, followTurn } from "./follow-turn.ts";

export interface TailOptions {
  readonly after: number;
  readonly full?: boolean;
  readonly lostAfter: number;
}

/** `turnd tail`: shows a turn's events from any one on and follows it to its end. Ending the command does not affect the turn. */
export async function tailTurn(context: Context, turnId: string, options: TailOptions): Promise<ExitCode> {
  const { signal } = context;
  try {
    const ended = await followTurn(context, {
      turnId,
      after: options.after,
      isFull: options.full === true,
      lostAfterMs: options.lostAfter * 1_000,
      signal,
    });
    if (context.isQuiet && !context.isJson) await context.printAnswer(ended.output ?? "");
    return exitCodeOfEnd(ended);
  } catch (error) {
    if (!signal.aborted) throw error;
    return EXIT.interrupted;
  }
}
