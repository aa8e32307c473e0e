import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { ask } from "../../soak/service/caller.ts";
import type { Figure } from "../figures.ts";
import { measureCommit } from "./bare-commits.ts";
import { waitForEnd } from "./dispatch.ts";
import type { ServiceStage } from "./service-stage.ts";
import { makeThread, submit } from "./submission.ts";

const [THREADS, RUNS_EACH, WARM_UP] = [5, 20, 20];
const SHARE = 40;
const LIMIT_MS = 120_000;

/** Runs a second through the whole queue with a turnd that answers at once, beside bare commits a second. */
export async function benchThroughput({ engine, caller, yardstick }: ServiceStage): Promise<Figure> {
  const warm = await makeThread(caller);
  for (let count = 0; count < WARM_UP; count += 1) {
    const { run_id: runId } = await submit(caller, warm, "warm");
    await waitForEnd(caller, runId ?? "");
  }
  const threads = await Promise.all(Array.from({ length: THREADS }, () => makeThread(caller)));
  const startedAt = performance.now();
  await Promise.all(
    threads.map(async (thread) => {
      for (let count = 0; count < RUNS_EACH; count += 1) await submit(caller, thread, `request ${count}`);
    }),
  );
  const queued = z.object({ requests: z.array(z.unknown()), queue: z.object({ status: z.string() }) });
  for (const thread of threads) {
    for (;;) {
      const { queue } = await ask(caller, queued, ["GET", `/api/agent/thread/${thread}/requests`]);
      if (queue.status === "idle") break;
      if (performance.now() - startedAt > LIMIT_MS)
        throw new Error(`${thread} is ${queue.status} after ${LIMIT_MS} ms`);
      await delay(50);
    }
  }
  const perSecond = (THREADS * RUNS_EACH * 1_000) / (performance.now() - startedAt);
  for (const thread of threads) await assertInOrder(caller, thread);
  const { perSecond: commits } = await measureCommit(yardstick);
  const bound = commits / SHARE;
  return {
    measure: `${engine}: ${THREADS * RUNS_EACH} runs in ${THREADS} threads, a turnd that answers at once`,
    turnd: `${perSecond.toFixed(1)} runs/s`,
    yardstick: `${bound.toFixed(1)} runs/s, 1/${SHARE} of ${commits.toFixed(0)} bare commits/s`,
    ratio: perSecond / bound,
    target: ">= 1",
  };
}

/** Speed without the order of the queue would be no figure. */
async function assertInOrder(caller: ServiceStage["caller"], thread: string): Promise<void> {
  const history = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });
  const { messages } = await ask(caller, history, ["GET", `/api/chat/thread/${thread}/history?limit=100`]);
  const asked = messages.flatMap(({ role, content }) => (role === "user" ? [content] : []));
  const expected = Array.from({ length: RUNS_EACH }, (_, count) => `request ${count}`);
  if (asked.join() !== expected.join()) throw new Error(`${thread} ran ${asked.join()}`);
}
