import { TurndUnreachable } from "../../client/errors.ts";
import type { Following } from "../../client/follow.ts";
import { lookUp, type Tolerant, type TurnEndedData } from "../../protocol/index.ts";
import { cutToWidth, safeLine } from "../../../kit/command-line/text.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { ClientFailure } from "./failure.ts";
import { formatDuration } from "./show-end.ts";
import { createAskPerson } from "./answer-asks.ts";
import { createEventShow } from "./show-stream.ts";
import { toolTitle } from "./show-tool.ts";
import { createStyle } from "./style.ts";

export interface FollowTurnOptions {
  readonly turnId: string;
  /** The last event that was seen; 0 is none. */
  readonly after: number;
  readonly isFull: boolean;
  readonly lostAfterMs: number;
  readonly signal?: AbortSignal | undefined;
}

const REDRAW_MS = 250;

/**
 * Shows a turn's events as they come, until its end. A connection that breaks is made again after the last event shown.
 *
 * @returns how the turn ended
 * @throws {ClientFailure} unreachable, with the command that goes on where this one stopped
 */
export async function followTurn(context: Context, options: FollowTurnOptions): Promise<Tolerant<TurnEndedData>> {
  const { client, isJson, isQuiet } = context;
  const { turnId, after, lostAfterMs, signal } = options;
  const style = createStyle(context.stdout, context.env);
  const asks = createAskPerson(context, turnId);
  const status = startStatus(context, () => !asks.isOpen());
  const shown = createEventShow({ style, isFull: options.isFull });
  const following = client.follow(turnId, { after, lostAfterMs, signal });
  try {
    for await (const event of following) {
      if (event.type === "tool.started") status.now(toolTitle(event.data));
      else status.now("");
      if (isJson) await context.printJson(event);
      else if (!isQuiet) await context.print(shown.show(event));
      asks.take(event);
      if (event.type === "turn.ended") return event.data;
    }
  } catch (error) {
    throw explainLost(error, turnId, following);
  } finally {
    asks.end();
    status.end();
  }
  // turnd could not write the end; its result has what came of the turn.
  return client.result(turnId, { signal });
}

/** The exit code for a turn's end. */
export function exitCodeOfEnd({ status }: Pick<Tolerant<TurnEndedData>, "status">): ExitCode {
  return lookUp({ completed: EXIT.done, cancelled: EXIT.cancelled }, status) ?? EXIT.failed;
}

function explainLost(error: unknown, turnId: string, { afterSeq }: Following): unknown {
  if (!(error instanceof TurndUnreachable)) return error;
  const message = `${error.message}; the turn may go on: turnd tail ${turnId} --after ${afterSeq}`;
  return new ClientFailure("unreachable", message, EXIT.unreachable, error);
}

/** The progress line; only on a terminal. */
function startStatus({ terminal, isJson }: Context, mayDraw: () => boolean): { now(what: string): void; end(): void } {
  const startedAt = performance.now();
  let what = "";
  const draw = (): void => {
    if (!mayDraw()) return;
    const text = `${formatDuration(performance.now() - startedAt)}  ${safeLine(what)}`;
    // A wrapped line cannot be drawn over.
    terminal.drawStatus(cutToWidth(text, terminal.columns - 1));
  };
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return {
    now(next) {
      what = next;
    },
    end() {
      clearInterval(timer);
      if (!isJson) terminal.clearStatus();
    },
  };
}
