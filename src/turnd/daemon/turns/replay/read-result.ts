import type { Logger } from "pino";
import { ProblemError, type Decision, type TurnResult } from "../../../protocol/index.ts";
import type { Redact } from "../../event-log/redact.ts";
import { isExhaustedCode } from "../../process/exhausted.ts";
import { openRecording } from "../../replay/recording.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { keepLogged } from "../outcome/decision.ts";
import { readDecision, toResult, writeResult, type TurnEnd } from "../outcome/result-file.ts";
import type { Executors } from "../executors/executors.ts";
import { readEnd } from "../store/load-turn.ts";
import { replayRecording } from "./replay.ts";

export interface ResultParts {
  readonly executors: Executors;
  readonly limits: Pick<TurnLimits, "maxLineBytes">;
  readonly redact: Redact;
  readonly now: () => Date;
  readonly logger: Logger;
}

/**
 * Reads the result of an ended turn. How it ended stands in the log; how it was decided, in `result.json`.
 *
 * A turn whose `result.json` has no decision, or was never written, is replayed from its directory once.
 *
 * @throws {ProblemError} resources_exhausted, storage_full where its log cannot be read: it has ended all the same
 */
export async function readResult(
  parts: ResultParts,
  turn: Turn,
  { isExplained }: { readonly isExplained: boolean },
): Promise<TurnResult> {
  const logged = turn.unwrittenEnd === undefined ? await readLoggedEnd(parts, turn) : undefined;
  const data = turn.unwrittenEnd ?? logged?.data;
  if (data === undefined) throw unreadable(turn, "its end is not there any more");
  const end = { data, at: logged?.at ?? turn.endedAt ?? turn.file.created_at };
  const { tried, ...decision } = turn.decision ?? (await readDecision(turn)) ?? (await makeAgain(parts, turn, end));
  return toResult(turn, end, { ...decision, ...(isExplained && tried !== undefined ? { tried } : {}) });
}

async function readLoggedEnd({ logger }: ResultParts, turn: Turn): ReturnType<typeof readEnd> {
  try {
    return await readEnd(turn.directory);
  } catch (error) {
    logger.error({ turnId: turn.file.turn_id, err: error }, "log of an ended turn cannot be read");
    throw unreadable(turn, error);
  }
}

function unreadable({ file }: Turn, cause: unknown): ProblemError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `turn ${file.turn_id} has ended, and its log cannot be read now: ${why}`;
  const isExhausted = cause instanceof Error && "code" in cause && isExhaustedCode(cause.code);
  return new ProblemError(isExhausted ? "resources_exhausted" : "storage_full", message, { turn_id: file.turn_id });
}

async function makeAgain(parts: ResultParts, turn: Turn, end: TurnEnd): Promise<Decision> {
  const { turn_id: turnId } = turn.file;
  let shown: Decision | undefined;
  try {
    shown = await replayDecision(parts, turn);
  } catch (error) {
    parts.logger.warn({ turnId, err: error }, "turn cannot be replayed; its decision is shown as far as it is logged");
  }
  const decision = keepLogged(end.data, shown);
  if (turn.unwrittenEnd !== undefined) return decision;
  try {
    await writeResult(turn, end, decision);
  } catch (error) {
    parts.logger.warn({ turnId, err: error }, "result could not be written");
  }
  return decision;
}

async function replayDecision(parts: ResultParts, { directory }: Turn): Promise<Decision | undefined> {
  const recording = await openRecording(directory);
  const executor = parts.executors.get(recording.turn.executor)?.executor;
  let decision: Decision | undefined;
  if (executor === undefined) return undefined;
  await replayRecording(recording, {
    executor,
    maxLineBytes: parts.limits.maxLineBytes,
    now: parts.now,
    redact: parts.redact,
    keepsOrder: true,
    write: () => Promise.resolve(),
    explain: (made) => void (decision = made),
  });
  return decision;
}
