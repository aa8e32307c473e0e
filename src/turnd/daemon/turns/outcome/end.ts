import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { Decision, TurnEndedData } from "../../../protocol/index.ts";
import type { EventLog, LogSoFar } from "../../event-log/event-log.ts";
import type { Redact } from "../../event-log/redact.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { Ending } from "../../executors/contract/translator.ts";
import { countedExecutor, type TurnObserver } from "../lifecycle/observer.ts";
import { digestOfInstructions, instructionsOf } from "../lifecycle/turn-instructions.ts";
import type { TurnTracer } from "../lifecycle/tracer.ts";
import { concludeTurn, type TurnFacts } from "./conclude.ts";
import { explainTurn } from "./decision.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { writeResult } from "./result-file.ts";
import { toFailureOfOurs, type RunOutcome } from "./run-outcome.ts";
import type { End } from "../lifecycle/inputs.ts";
import { ranForMs } from "../lifecycle/ran-for.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { withoutSecrets } from "../store/without-secrets.ts";

export interface EndParts {
  readonly sessions: Pick<SessionStore, "get" | "update">;
  readonly redact: Redact;
  readonly observer: Pick<TurnObserver, "eventsWritten" | "turnEnded">;
  readonly tracer: Pick<TurnTracer, "ended">;
  readonly now: () => Date;
  /** Names the turn's session and its trace in each of its lines. */
  readonly logger: Logger;
}

const END_RETRIES = 10;
const END_RETRY_MS = 200;

/**
 * Ends, only in memory, a turn whose log cannot even be opened or read. The next start tries again.
 *
 * Never throws: it is what is left where everything else has failed.
 */
export async function endWithoutLog(parts: EndParts, turn: Turn, error: unknown): Promise<void> {
  const facts = { endedBy: turn.life.stopReason ?? null, halt: toFailureOfOurs(error), exit: null, isDegraded: false };
  const data: TurnEndedData = {
    ...concludeTurn(facts),
    counts: { events: turn.tail.lastSeq() + 1, records: 0, unknown: 0, tools: 0, retries: 0 },
    duration_ms: 0,
    digest: await digestOf(join(turn.directory, "events.jsonl")),
  };
  const { turn_id: turnId } = turn.file;
  const code = data.failure?.code;
  parts.logger.error({ turnId, status: data.status, code, err: error }, "turn's log cannot be written");
  // Wherever the turn stood.
  await turn.send({ type: "failed" });
  const at = parts.now().toISOString();
  await turn.send({
    type: "end_unwritable",
    end: { status: data.status, at, ...makeDecision(parts, turn, facts) },
    data,
  });
  observeEnd(parts, turn, data, at);
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
export async function endTurn(parts: EndParts, turn: Turn, log: EventLog, { facts, ran }: RunOutcome): Promise<void> {
  if (ran !== undefined) await quietly(parts, turn, () => saveNativeState(parts, turn, ran.ending));
  await quietly(parts, turn, () => saveInstructions(parts, turn, facts));
  const { at, durationMs } = timeEnd({
    startedAt: turn.file.started_at ?? turn.file.created_at,
    ranMs: ranForMs(turn),
    now: parts.now(),
  });
  const makeData = (before: LogSoFar): TurnEndedData =>
    withoutSecrets(parts.redact, TurnEndedData, {
      ...concludeTurn(facts),
      counts: {
        events: before.events + 1,
        records: ran?.counts.records ?? 0,
        unknown: ran?.counts.unknown ?? 0,
        tools: ran?.counts.tools ?? 0,
        retries: ran?.counts.retries ?? 0,
      },
      duration_ms: durationMs,
      digest: before.digest,
    });
  const data = await logEnd(parts, turn, log, makeData, { at, ...makeDecision(parts, turn, facts) });
  await quietly(parts, turn, async () => {
    // A result beside a log without its end would show that the log is damaged.
    if (turn.decision === undefined || turn.unwrittenEnd !== undefined) return;
    await writeResult(turn, { data, at }, turn.decision);
    await turn.send({ type: "result_written" });
  });
  logEnded(parts, turn, data);
}

/** One line per turn; of a failed one with what decided it, which was redacted as the event was. */
function logEnded({ logger }: EndParts, { file }: Turn, data: TurnEndedData): void {
  const { status, failure, duration_ms: durationMs } = data;
  const ids = { turnId: file.turn_id, executor: file.executor };
  if (failure === undefined) return logger.info({ ...ids, status, durationMs }, "turn ended");
  const { code, message, evidence } = failure;
  logger.warn({ ...ids, status, durationMs, code, reason: message, evidence: evidence[0] }, "turn ended");
}

function makeDecision({ redact, logger }: EndParts, turn: Turn, facts: TurnFacts): Pick<End, "decision"> {
  try {
    return { decision: withoutSecrets(redact, Decision, explainTurn(facts)) };
  } catch (error) {
    // It can be made again from the turn's directory, and matters less than the end itself. Law: one end.
    logger.warn({ turnId: turn.file.turn_id, err: error }, "decision of a turn's end could not be described");
    return {};
  }
}

function observeEnd(parts: EndParts, { file, directory }: Turn, data: TurnEndedData, at: string): void {
  parts.tracer.ended(file, { data, at, logPath: join(directory, "events.jsonl") });
  parts.observer.turnEnded({
    executor: countedExecutor(file),
    status: data.status,
    code: data.failure?.code,
    durationMs: data.duration_ms,
    cliVersion: file.cli_version,
    unknownRecords: data.counts.unknown,
    usage: data.usage,
  });
}

async function logEnd(
  parts: EndParts,
  turn: Turn,
  log: EventLog,
  makeData: (before: LogSoFar) => TurnEndedData,
  end: Omit<End, "status">,
): Promise<TurnEndedData> {
  for (let attempt = 1; ; attempt += 1) {
    let data = makeData({ events: log.lastSeq(), digest: log.digest() });
    try {
      await log.appendLast(
        (before) => ({ type: "turn.ended", data: (data = makeData(before)), at: end.at }),
        () => {
          void turn.send({ type: "end_logged", end: { ...end, status: data.status } });
          parts.observer.eventsWritten(countedExecutor(turn.file), 1);
          observeEnd(parts, turn, data, end.at);
        },
      );
      return data;
    } catch (error) {
      if (!isStorageError(error)) throw error;
      if (attempt >= END_RETRIES) {
        parts.logger.error({ turnId: turn.file.turn_id, err: error }, "end of a turn could not be written");
        await turn.send({ type: "end_unwritable", end: { ...end, status: data.status }, data });
        observeEnd(parts, turn, data, end.at);
        return data;
      }
      await delay(END_RETRY_MS);
    }
  }
}

async function saveNativeState(parts: EndParts, turn: Turn, { usageAfter, historyLost }: Ending): Promise<void> {
  const known = parts.sessions.get(turn.file.session_id);
  if (usageAfter === undefined && known?.native_usage === undefined && historyLost === undefined) return;
  await parts.sessions.update(turn.file.session_id, {
    native_usage: usageAfter,
    ...(historyLost === undefined ? {} : { native_history_lost: parts.redact(historyLost) }),
  });
}

/** Of a turn that did not complete it is not known whether the CLI has kept its instructions: the next one sends its own anew. */
async function saveInstructions(parts: EndParts, { file }: Turn, facts: TurnFacts): Promise<void> {
  const session = parts.sessions.get(file.session_id);
  if (session === undefined || concludeTurn(facts).status !== "completed") return;
  const given = digestOfInstructions(instructionsOf(session, file));
  if (given !== session.native_instructions)
    await parts.sessions.update(file.session_id, { native_instructions: given });
}

/** What can be derived again, or matters less than the end itself, must not keep the turn from ending. Law: one end. */
async function quietly(parts: EndParts, turn: Turn, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    parts.logger.warn({ turnId: turn.file.turn_id, err: error }, "file beside the log could not be written");
  }
}

/** When a turn ended, and how long it ran. */
interface EndTime {
  readonly at: string;
  readonly durationMs: number;
}

/**
 * Dates a turn's end: it is never before its start, and how long it ran does not change with the clock.
 *
 * @param ranMs - since its start, by a clock that nobody sets; undefined where there is none: then only the clock tells
 */
export function timeEnd(known: {
  readonly startedAt: string;
  readonly ranMs: number | undefined;
  readonly now: Date;
}): EndTime {
  const startMs = Date.parse(known.startedAt);
  const nowMs = known.now.getTime();
  const durationMs = Math.round(known.ranMs ?? Math.max(0, nowMs - startMs));
  const endMs = nowMs < startMs ? startMs + durationMs : nowMs;
  return { at: new Date(endMs).toISOString(), durationMs };
}
