import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Decision, TurnEndedData } from "../../../protocol/index.ts";
import type { EventLog, LogSoFar } from "../../event-log/event-log.ts";
import type { AttemptResult } from "../run/attempt.ts";
import { concludeTurn, type TurnFacts } from "./classify.ts";
import type { TurnContext } from "../context.ts";
import { explainTurn } from "./decision.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { writeResult } from "./result.ts";
import { toFailureOfOurs } from "./run-outcome.ts";
import type { End } from "../lifecycle/inputs.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { withoutSecrets } from "../store/without-secrets.ts";

const END_RETRIES = 10;
const END_RETRY_MS = 200;

/**
 * Ends, in memory alone, a turn whose log cannot even be opened or read. The next start tries again.
 *
 * Never throws: it is what is left where everything else has failed.
 */
export async function endWithoutLog(context: TurnContext, turn: Turn, error: unknown): Promise<void> {
  context.logger.error({ turnId: turn.file.turn_id, err: error }, "turn's log cannot be written");
  const facts = { endedBy: turn.life.stopReason ?? null, halt: toFailureOfOurs(error), exit: null, isDegraded: false };
  const data: TurnEndedData = {
    ...concludeTurn(facts),
    counts: { events: turn.tail.lastSeq() + 1, records: 0, unknown: 0, tools: 0, retries: 0 },
    duration_ms: 0,
    digest: await digestOf(join(turn.directory, "events.jsonl")),
  };
  // Wherever the turn stood.
  await turn.send({ type: "failed" });
  const end = { status: data.status, at: context.now().toISOString(), decision: explainTurn(facts) };
  await turn.send({ type: "end_unwritable", end, data });
  observeEnd(context, turn, data);
  turn.tail.end();
}

/** Of the lines that can be read: none, where the log cannot. */
async function digestOf(logPath: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    const file = await open(logPath, constants.O_RDONLY | constants.O_NONBLOCK);
    await pipeline(file.createReadStream(), hash);
  } catch {
    return createHash("sha256").digest("hex");
  }
  return hash.digest("hex");
}

/**
 * Logs `turn.ended`, durably, and makes the result from it.
 *
 * Where the disk takes not even this, the daemon goes on with the result in memory, and the next start tries again.
 */
export async function endTurn(
  context: TurnContext,
  turn: Turn,
  log: EventLog,
  facts: TurnFacts,
  attempt: AttemptResult | undefined,
): Promise<void> {
  if (attempt !== undefined) await quietly(context, turn, () => saveUsage(context, turn, attempt.ending.usageAfter));
  const now = context.now();
  const startedAt = new Date(turn.file.started_at ?? turn.file.created_at);
  const durationMs = Math.max(0, now.getTime() - startedAt.getTime());
  const makeData = (before: LogSoFar): TurnEndedData =>
    withoutSecrets(context.redact, TurnEndedData, {
      ...concludeTurn(facts),
      counts: {
        events: before.events + 1,
        records: attempt?.counts.records ?? 0,
        unknown: attempt?.counts.unknown ?? 0,
        tools: attempt?.counts.tools ?? 0,
        retries: attempt?.counts.retries ?? 0,
      },
      duration_ms: durationMs,
      digest: before.digest,
    });
  const at = now.toISOString();
  const decision = makeDecision(context, turn, facts);
  const data = await logEnd(context, turn, log, makeData, { at, ...(decision === undefined ? {} : { decision }) });
  await quietly(context, turn, async () => {
    // A result beside a log without its end would say that the log is damaged.
    if (turn.decision === undefined || turn.unwrittenEnd !== undefined) return;
    await writeResult(turn, { data, at }, turn.decision);
    await turn.send({ type: "result_written" });
  });
  const { status, failure } = data;
  context.logger.info(
    { turnId: turn.file.turn_id, status, code: failure?.code, durationMs: data.duration_ms },
    "turn ended",
  );
}

function makeDecision({ redact, logger }: TurnContext, turn: Turn, facts: TurnFacts): Decision | undefined {
  try {
    return withoutSecrets(redact, Decision, explainTurn(facts));
  } catch (error) {
    // It can be made again from the turn's directory, and matters less than the end itself (law 3).
    logger.warn({ turnId: turn.file.turn_id, err: error }, "decision of a turn's end could not be described");
    return undefined;
  }
}

function observeEnd(context: TurnContext, { file }: Turn, data: TurnEndedData): void {
  context.observer.turnEnded({
    executor: file.executor,
    status: data.status,
    code: data.failure?.code,
    durationMs: data.duration_ms,
    cliVersion: file.cli_version,
    unknownRecords: data.counts.unknown,
  });
}

async function logEnd(
  context: TurnContext,
  turn: Turn,
  log: EventLog,
  makeData: (before: LogSoFar) => TurnEndedData,
  end: Omit<End, "status">,
): Promise<TurnEndedData> {
  for (let attempt = 1; ; attempt += 1) {
    let data = makeData({ events: log.lastSeq(), digest: log.digest() });
    try {
      await log.appendLast(
        (before) => ({ type: "turn.ended", data: (data = makeData(before)) }),
        () => {
          void turn.send({ type: "end_logged", end: { ...end, status: data.status } });
          context.observer.eventsWritten(turn.file.executor, 1);
          observeEnd(context, turn, data);
        },
      );
      return data;
    } catch (error) {
      if (!isStorageError(error)) throw error;
      if (attempt >= END_RETRIES) {
        context.logger.error({ turnId: turn.file.turn_id, err: error }, "end of a turn could not be written");
        await turn.send({ type: "end_unwritable", end: { ...end, status: data.status }, data });
        observeEnd(context, turn, data);
        return data;
      }
      await delay(END_RETRY_MS);
    }
  }
}

async function saveUsage(context: TurnContext, turn: Turn, usage: TurnEndedData["usage"]): Promise<void> {
  if (usage === undefined && context.sessions.get(turn.file.session_id)?.native_usage === undefined) return;
  await context.sessions.update(turn.file.session_id, { native_usage: usage });
}

/** What can be derived again, or matters less than the end itself, must not keep the turn from ending (law 3). */
async function quietly(context: TurnContext, turn: Turn, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    context.logger.warn({ turnId: turn.file.turn_id, err: error }, "file beside the log could not be written");
  }
}
