import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { RunAnswer } from "../../../src/service/protocol/runs.ts";
import { connectTurnd } from "../../../src/service/sandboxes/connect-turnd.ts";
import { ask, type Caller } from "../../soak/service/caller.ts";
import { percentile, type Figure } from "../figures.ts";
import type { ServiceStage } from "./service-stage.ts";
import { makeThread, submit } from "./submission.ts";

const RUNS = 30;
const WARM_UP = 5;
const BOUND_MS = 30;

/** From a run's row to its turn's admission as turnd has written it, one run at a time; beside the same two calls at turnd itself. */
export async function benchDispatch({ engine, caller, stage }: ServiceStage): Promise<Figure> {
  const turnd = connectTurnd({ baseUrl: stage.turndUrl, token: undefined });
  const times: number[] = [];
  const alone: number[] = [];
  for (let count = -WARM_UP; count < RUNS; count += 1) {
    const { run_id: runId } = await submit(caller, await makeThread(caller), "say hello");
    const run = await waitForEnd(caller, runId ?? "");
    const turn = await turnd.turnOfRequest(run.run_id);
    if (turn === undefined) throw new Error(`turnd has no turn of ${run.run_id}`);
    const startedAt = performance.now();
    const { session_id } = await turnd.createSession({ executor: "cli-b" });
    const { turn_id } = await turnd.submit({ session_id, input: "say hello" });
    const elapsed = performance.now() - startedAt;
    for await (const event of turnd.follow(turn_id, { lostAfterMs: 60_000 })) if (event.type === "turn.ended") break;
    if (count < 0) continue;
    alone.push(elapsed);
    times.push(Date.parse(turn.created_at) - Date.parse(run.created_at));
  }
  const [p50, own] = [percentile(times, 0.5), percentile(alone, 0.5)];
  return {
    measure: `${engine}: dispatch to turn admitted at turnd, p50 of ${RUNS}`,
    turnd: `${p50.toFixed(0)} ms`,
    yardstick: `${BOUND_MS} ms; session and turn at turnd itself: ${own.toFixed(1)} ms`,
    ratio: p50 / BOUND_MS,
    target: "<= 1",
  };
}

const LIMIT_MS = 60_000;
/** Seldom: each look costs the service as much as a submission, in the middle of what is measured. */
const LOOK_MS = 100;

export async function waitForEnd(caller: Caller, runId: string): Promise<z.infer<typeof RunAnswer>["run"]> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    await delay(LOOK_MS);
    const { run } = await ask(caller, RunAnswer, ["GET", `/api/agent/runs/${runId}`]);
    if (run.ended_at !== null) {
      if (run.status !== "completed") throw new Error(`${runId} ended ${run.status}: ${JSON.stringify(run.error)}`);
      return run;
    }
    if (performance.now() > deadline) throw new Error(`${runId} has not ended after ${LIMIT_MS} ms`);
  }
}
