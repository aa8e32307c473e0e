import { readFileSync } from "node:fs";
import { RunResult } from "../../../src/service/protocol/runs.ts";
import { ask, type Caller } from "./caller.ts";
import { readRun } from "./read-run.ts";

/** A request that was accepted, and what its turn leaves as its witness. */
export interface Asked {
  readonly requestId: string;
  readonly witness: string;
  /** Its turn may end as crashed. */
  readonly mayFail: boolean;
}

/** What may have become of a run, and what is wrong with it. */
export interface Inspected {
  readonly ending: string;
  readonly faults: string[];
}

/** Two readers, one of which keeps leaving, the result and the recorded states must agree. */
export async function inspectRun(caller: Caller, runId: string, asked: Asked): Promise<Inspected> {
  const { random } = caller;
  const [steady, restless] = await Promise.all([
    readRun(caller, runId, () => Infinity),
    readRun(caller, runId, () => random.between(1, 200)),
  ]);
  const faults: string[] = [];
  if (steady.digest !== restless.digest) faults.push(`run ${runId}: two readers, two digests`);
  const result = await ask(caller, RunResult, ["GET", `/api/agent/runs/${runId}/result`]);
  if (!result.final) faults.push(`run ${runId}: after its end the result is not final`);
  if (result.status !== steady.status) faults.push(`run ${runId}: end ${steady.status}, result ${result.status}`);
  if (result.last_seq !== steady.lastSeq) faults.push(`run ${runId}: ${steady.lastSeq} events, not ${result.last_seq}`);
  if (result.request_id !== asked.requestId) faults.push(`run ${runId}: is of request ${result.request_id}`);
  const times = countRuns(asked.witness);
  if (times > 1) faults.push(`run ${runId}: its turn was executed ${times} times`);
  const type = result.error?.type ?? "";
  const isForced = type === "crashed" && asked.mayFail;
  if (type !== "" && !isForced) faults.push(`run ${runId}: failed as ${type}: ${result.error?.message ?? ""}`);
  return { ending: type === "" ? result.status : type, faults };
}

/** How often a turn began: each process that runs it adds a line. */
export function countRuns(witness: string): number {
  try {
    return readFileSync(witness, "utf8").trimEnd().split("\n").length;
  } catch {
    return 0; // It never came to its first line.
  }
}
