import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Decision, ProblemError, type TurnEndedData, type TurnResult } from "../../../protocol/index.ts";
import { isExhaustedCode } from "../../process/exhausted.ts";
import { FRESH } from "../../storage/atomic-file.ts";
import { readRegular } from "../../storage/read-regular.ts";
import { openRecording } from "../../replay/recording.ts";
import type { TurnContext } from "../context.ts";
import { keepLogged } from "./decision.ts";
import { replayRecording } from "../replay/replay.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { executorNameOf } from "../store/snapshot.ts";
import { readEnd } from "../store/turn-store.ts";

const FILE = "result.json";
const ResultFile = z.object({ decision: Decision });

/** How a turn ended, and when. */
export interface TurnEnd {
  readonly data: TurnEndedData;
  readonly at: string;
}

/** Writes `result.json`: the data of `turn.ended` with the turn's ids, and how it was decided. */
export async function writeResult(turn: Turn, end: TurnEnd, decision: Decision): Promise<void> {
  const result = toResult(turn, end, decision);
  await writeFile(join(turn.directory, FILE), `${JSON.stringify(result)}\n`, { mode: 0o600, flag: FRESH });
}

/**
 * Reads the result of an ended turn. What was told stands in the log; how it was decided, in `result.json`.
 *
 * A turn whose `result.json` says nothing of the decision, or was never written, is replayed from its directory once.
 *
 * @throws {ProblemError} resources_exhausted, storage_full where its log cannot be read: it has ended all the same
 */
export async function readResult(
  context: TurnContext,
  turn: Turn,
  { isExplained }: { readonly isExplained: boolean },
): Promise<TurnResult> {
  const logged = turn.unwrittenEnd === undefined ? await readLoggedEnd(context, turn) : undefined;
  const data = turn.unwrittenEnd ?? logged?.data;
  if (data === undefined) throw unreadable(turn, "its end is not there any more");
  const end = { data, at: logged?.at ?? turn.endedAt ?? turn.file.created_at };
  const { tried, ...decision } = turn.decision ?? (await readDecision(turn)) ?? (await makeAgain(context, turn, end));
  return toResult(turn, end, { ...decision, ...(isExplained && tried !== undefined ? { tried } : {}) });
}

async function readLoggedEnd({ logger }: TurnContext, turn: Turn): ReturnType<typeof readEnd> {
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

function toResult({ file }: Turn, { data, at }: TurnEnd, decision: Decision): TurnResult {
  return {
    turn_id: file.turn_id,
    request_id: file.request_id,
    session_id: file.session_id,
    executor: executorNameOf(file),
    ...(file.metadata === undefined ? {} : { metadata: file.metadata }),
    ended_at: at,
    ...data,
    decision,
  };
}

async function readDecision({ directory }: Turn): Promise<Decision | undefined> {
  try {
    return ResultFile.safeParse(JSON.parse((await readRegular(join(directory, FILE))).toString("utf8"))).data?.decision;
  } catch {
    // Not there, or half written by a daemon that died: it is made again.
    return undefined;
  }
}

async function makeAgain(context: TurnContext, turn: Turn, end: TurnEnd): Promise<Decision> {
  const { turn_id: turnId } = turn.file;
  let shown: Decision | undefined;
  try {
    shown = await replayDecision(context, turn);
  } catch (error) {
    context.logger.warn({ turnId, err: error }, "turn cannot be replayed; its decision is told as far as logged");
  }
  const decision = keepLogged(end.data, shown);
  if (turn.unwrittenEnd !== undefined) return decision;
  try {
    await writeResult(turn, end, decision);
  } catch (error) {
    context.logger.warn({ turnId, err: error }, "result could not be written");
  }
  return decision;
}

async function replayDecision(context: TurnContext, { directory }: Turn): Promise<Decision | undefined> {
  const recording = await openRecording(directory);
  const executor = context.executors.get(recording.turn.executor)?.executor;
  let decision: Decision | undefined;
  if (executor === undefined) return undefined;
  await replayRecording(recording, {
    executor,
    maxLineBytes: context.limits.maxLineBytes,
    now: context.now,
    redact: context.redact,
    keepsOrder: true,
    write: () => Promise.resolve(),
    explain: (made) => void (decision = made),
  });
  return decision;
}
