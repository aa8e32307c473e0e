import { isUtf8 } from "node:buffer";
import { buffer as readAll } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { newRequestId } from "../../client/request-id.ts";
import type { TurnRequestBody } from "../../client/turnd-client.ts";
import type { Tolerant, TurnAdmission } from "../../protocol/index.ts";
import { safeLine } from "../../../kit/command-line/text.ts";
import { cancelTurn } from "./cancel-turn.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { ClientFailure, usageFailure } from "./failure.ts";
import { exitCodeOfEnd, followTurn } from "./follow-turn.ts";
import type { Permission } from "./options.ts";
import { printTurnDiff } from "./show-diff.ts";

export interface RunOptions {
  readonly executor?: string;
  readonly session?: string;
  readonly requestId?: string;
  readonly mode?: "execute" | "plan" | "review";
  readonly model?: string;
  readonly effort?: string;
  readonly agent?: string;
  readonly workspace?: string;
  readonly timeout?: number;
  readonly queue?: "enqueue" | "reject" | "steer";
  readonly ask?: boolean;
  readonly deny?: readonly Permission[];
  readonly detach?: boolean;
  readonly diff?: boolean;
  readonly full?: boolean;
  readonly lostAfter: number;
}

/** How long a submission under way at Ctrl-C is waited for: without its answer there is no turn to cancel. */
const SUBMISSION_MS = 10_000;

/**
 * Runs a turn and shows its events.
 *
 * The first Ctrl-C cancels the turn and waits for the receipt; the second leaves at once, and says what may still run.
 */
export async function runTurn(context: Context, words: readonly string[], options: RunOptions): Promise<ExitCode> {
  const input = await readPrompt(context, words);
  context.signal.throwIfAborted();
  const requestId = options.requestId ?? newRequestId();
  const request = await makeRequest(context, input, requestId, options);
  context.warnWhenLeft(() => `request ${requestId} may still run as a turn: turnd turns, turnd cancel`);
  const admission = await submit(context, request);
  const { turn_id: turnId } = admission;
  context.warnWhenLeft(() => `turn ${turnId} may still run: turnd cancel ${turnId}`);
  if (options.detach === true) {
    await (context.isJson ? context.printJson(admission) : context.print(`${turnId}\n`));
    return EXIT.done;
  }
  if (admission.queue_position > 0) {
    context.terminal.notice(`turnd: turn ${turnId} waits, ${admission.queue_position} before it`);
  }
  const cancelled = whenAborted(context.signal).then(() => cancelTurn(context, turnId));
  // A cancel that failed is reported when the turn's end, which is waited for, does not come either.
  cancelled.catch(() => undefined);
  const ended = await followTurn(context, {
    turnId,
    after: 0,
    isFull: options.full === true,
    lostAfterMs: options.lostAfter * 1_000,
  });
  if (context.isQuiet && !context.isJson) await context.printAnswer(ended.output ?? "");
  if (options.diff === true) await printTurnDiff(context, turnId);
  if (!context.signal.aborted) return exitCodeOfEnd(ended);
  await cancelled;
  return EXIT.interrupted;
}

async function readPrompt({ stdin, terminal, signal }: Context, words: readonly string[]): Promise<string> {
  if (words.length !== 1 || words[0] !== "-") return words.join(" ");
  if (stdin.isTTY) terminal.notice("turnd: reads the prompt; Ctrl-D ends it");
  const bytes = await Promise.race([readAll(stdin), whenAborted(signal)]);
  if (bytes === undefined) throw signal.reason;
  if (!isUtf8(bytes)) terminal.warn("turnd: warning: the prompt is not UTF-8; what is not is replaced by U+FFFD");
  const prompt = bytes.toString("utf8");
  if (prompt.trim() === "") throw usageFailure("the prompt on standard input is empty");
  return prompt;
}

async function makeRequest(
  context: Context,
  input: string,
  requestId: string,
  options: RunOptions,
): Promise<TurnRequestBody> {
  const { session, mode, model, effort, agent, workspace, timeout, queue, diff, ask, deny = [] } = options;
  const executor = options.executor ?? (session === undefined ? await defaultExecutor(context) : undefined);
  return {
    input,
    request_id: requestId,
    ...(executor === undefined ? {} : { executor }),
    ...(session === undefined ? {} : { session_id: session }),
    ...(mode === undefined ? {} : { mode }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(agent === undefined ? {} : { agent }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(timeout === undefined ? {} : { timeout_ms: timeout * 1_000 }),
    ...(diff === undefined ? {} : { diff }),
    ...(queue === undefined ? {} : { queue_policy: queue }),
    ...(deny.length === 0 && ask !== true
      ? {}
      : {
          permissions: {
            ...Object.fromEntries(deny.map((name) => [name, "deny" as const])),
            ...(ask === true ? { approval: "ask" as const } : {}),
          },
        }),
  };
}

/** The one that `TURND_EXECUTOR` names, and otherwise the only one that can run turns. */
async function defaultExecutor(context: Context): Promise<string> {
  const named = context.env["TURND_EXECUTOR"] ?? "";
  return named === "" ? chooseExecutor(context) : named;
}

/** The one executor that can run turns. No other takes the place of one that is named. */
async function chooseExecutor({ client, signal }: Context): Promise<string> {
  const executors = await client.executors({ signal });
  const usable = executors.filter(({ available }) => available);
  const [only] = usable;
  if (only !== undefined && usable.length === 1) return only.id;
  if (only !== undefined) {
    throw usageFailure(
      `name the executor with --executor or TURND_EXECUTOR: ${usable.map(({ id, name }) => `${id} (${name})`).join(" or ")}`,
    );
  }
  const reasons = executors.map(({ id, unavailable }) => `${id}: ${unavailable?.message ?? "unavailable"}`);
  const message = `no executor can run turns: ${safeLine(reasons.join("; "))}`;
  throw new ClientFailure("executor_unavailable", message, EXIT.failed);
}

/** Submits; a submission under way is waited for, since it may have become a turn. */
async function submit(context: Context, request: TurnRequestBody): Promise<Tolerant<TurnAdmission>> {
  const leaving = new AbortController();
  const submission = context.client.submit(request, { signal: leaving.signal });
  const late = whenAborted(context.signal).then(() => delay(SUBMISSION_MS, undefined, { ref: false }));
  const admission = await Promise.race([submission, late]);
  if (admission !== undefined) return admission;
  leaving.abort(context.signal.reason);
  submission.catch(() => undefined);
  const message = `interrupted before turnd answered: request ${request.request_id} may still run as a turn`;
  throw new ClientFailure("interrupted", message, EXIT.interrupted);
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
