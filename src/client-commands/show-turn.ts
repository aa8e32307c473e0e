import type { Tolerant, TurnResult, TurnSnapshot } from "../protocol/index.ts";
import { safeLine, safeText } from "../command-line/text.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { showEnd } from "./show-end.ts";
import { createStyle } from "./style.ts";

/** `turnd show`: a turn as it stands, and its result once it has ended. */
export async function showTurn(context: Context, turnId: string): Promise<ExitCode> {
  const { client, signal } = context;
  const turn = await client.turn(turnId, { signal });
  const hasEnded = turn.status !== "queued" && turn.status !== "running";
  const result = hasEnded ? await client.result(turnId, { signal }) : undefined;
  if (context.isJson) await context.printJson({ turn, ...(result === undefined ? {} : { result }) });
  else if (context.isQuiet) await context.printAnswer(result?.output ?? "");
  else await context.print(describe(turn, result, context));
  return EXIT.done;
}

function describe(
  turn: Tolerant<TurnSnapshot>,
  result: Tolerant<TurnResult> | undefined,
  { stdout, env }: Context,
): string {
  const { metadata = {} } = turn;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["turn", turn.turn_id],
    ["session", turn.session_id],
    ["request", turn.request_id],
    ["executor", turn.executor],
    ["mode", turn.mode],
    ["model", turn.model],
    ["workspace", turn.workspace],
    ["status", turn.queue_position > 0 ? `${turn.status}, ${turn.queue_position} before it` : turn.status],
    ["created", turn.created_at],
    ["started", turn.started_at],
    ["ended", turn.ended_at],
    ["events", String(turn.last_seq)],
    ...Object.entries(metadata).map(([name, value]) => [`metadata ${name}`, value] as const),
  ];
  const known = rows.filter(([, value]) => value !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  const facts = known.map(([name, value = ""]) => `${safeLine(name).padEnd(width)}  ${safeLine(value)}\n`).join("");
  if (result === undefined) return facts;
  const output = result.output === null ? "" : `\n${safeText(result.output).trimEnd()}\n`;
  return `${facts}${output}\n${showEnd(result, createStyle(stdout, env))}`;
}
