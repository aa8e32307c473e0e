import type { Tolerant, TurnResult, TurnSnapshot } from "../../protocol/index.ts";
import { safeLine, safeText } from "../../../kit/command-line/text.ts";
import { findAwaited, watchActivity, type Activity, type Awaited } from "../../client/activity.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { formatDuration, showEnd } from "./show-end.ts";
import { createStyle } from "./style.ts";

/** `turnd show`: a turn as it stands, and its result once it has ended. */
export async function showTurn(context: Context, turnId: string): Promise<ExitCode> {
  const { client, signal } = context;
  const turn = await client.turn(turnId, { signal });
  const hasEnded = turn.status !== "queued" && turn.status !== "running";
  const result = hasEnded ? await client.result(turnId, { signal }) : undefined;
  const activity = turn.status === "running" ? await readActivity(context, turn) : undefined;
  if (context.isJson) {
    await context.printJson({ turn, ...(result === undefined ? {} : { result }), ...toJson(activity) });
  } else if (context.isQuiet) await context.printAnswer(result?.output ?? "");
  else await context.print(describeTurn(turn, { result, activity }, context));
  return EXIT.done;
}

/** What a running turn does now. */
interface RunningActivity {
  readonly last: Activity["last"];
  readonly awaited: Awaited | undefined;
}

/** Read from the events so far; those of a turn that ends meanwhile include its end. */
async function readActivity({ client, signal }: Context, turn: Tolerant<TurnSnapshot>): Promise<RunningActivity> {
  const watch = watchActivity();
  const following = client.follow(turn.turn_id, { signal, verify: false });
  for await (const event of turn.last_seq === 0 ? [] : following) {
    watch.note(event);
    if (event.seq >= turn.last_seq) break;
  }
  const activity = watch.now();
  return { last: activity.last, awaited: findAwaited(activity, turn.running_command, Date.now()) };
}

function toJson(activity: RunningActivity | undefined): object {
  if (activity === undefined) return {};
  const { last, awaited } = activity;
  return { activity: { last_event: last, waits_for: awaited?.what, name: awaited?.name, for_ms: awaited?.forMs } };
}

function activityRows({ last, awaited }: RunningActivity): readonly (readonly [string, string | undefined])[] {
  const since = last && formatDuration(Math.max(0, Date.now() - Date.parse(last.at)));
  return [
    ["last event", last && `${since} ago (${last.type})`],
    ["waits for", awaited && `${awaited.name}, for ${formatDuration(awaited.forMs)}`],
  ];
}

function describeTurn(
  turn: Tolerant<TurnSnapshot>,
  {
    result,
    activity,
  }: { readonly result: Tolerant<TurnResult> | undefined; readonly activity: RunningActivity | undefined },
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
    ...(activity === undefined ? [] : activityRows(activity)),
    ...Object.entries(metadata).map(([name, value]) => [`metadata ${name}`, value] as const),
  ];
  const known = rows.filter(([, value]) => value !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  const facts = known.map(([name, value = ""]) => `${safeLine(name).padEnd(width)}  ${safeLine(value)}\n`).join("");
  if (result === undefined) return facts;
  const output = result.output === null ? "" : `\n${safeText(result.output).trimEnd()}\n`;
  return `${facts}${output}\n${showEnd(result, createStyle(stdout, env))}`;
}
