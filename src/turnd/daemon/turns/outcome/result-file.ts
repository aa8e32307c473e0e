import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { defined } from "../../../../kit/defined.ts";
import { Decision, type TurnEndedData, type TurnResult } from "../../../protocol/index.ts";
import { FRESH } from "../../storage/atomic-file.ts";
import { readRegular } from "../../storage/read-regular.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { executorNameOf } from "../store/snapshot.ts";

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

/** The result of a turn that ended so. */
export function toResult({ file }: Turn, { data, at }: TurnEnd, decision: Decision): TurnResult {
  return {
    turn_id: file.turn_id,
    request_id: file.request_id,
    session_id: file.session_id,
    executor: executorNameOf(file),
    ...defined({ metadata: file.metadata }),
    ended_at: at,
    ...data,
    decision,
  };
}

/** How a turn's end was decided, by its `result.json`; undefined where that has none. */
export async function readDecision({ directory }: Turn): Promise<Decision | undefined> {
  try {
    return ResultFile.safeParse(JSON.parse((await readRegular(join(directory, FILE))).toString("utf8"))).data?.decision;
  } catch {
    // Not there, or half written by a daemon that ended: it is made again.
    return undefined;
  }
}
