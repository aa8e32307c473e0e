import { expect, onTestFinished, test } from "vitest";
import { startJobWorker, type ClaimedJob, type JobWorkerOptions } from "../../../src/service/storage/job-worker.ts";
import { waitFor } from "../../harness/wait-for.ts";

interface Desk {
  readonly waiting: ClaimedJob[];
  readonly looks: number[];
  readonly touched: number[];
  readonly gone: Set<string>;
}

function jobs(count: number): ClaimedJob[] {
  return Array.from({ length: count }, (_, index) => ({ id: `job-${index}`, retryCount: 0, expireInSeconds: 600 }));
}

/** A worker on a queue in memory: what is asked of the queue is what counts here. */
function startWorker(count: number, options: Partial<JobWorkerOptions<ClaimedJob>>) {
  const desk: Desk = { waiting: jobs(count), looks: [], touched: [], gone: new Set() };
  const ended: string[] = [];
  const worker = startJobWorker<ClaimedJob>({
    source: {
      fetch: async (most) => {
        desk.looks.push(most);
        return desk.waiting.splice(0, most);
      },
      listWaiting: async () => [],
      complete: async ({ id }) => void ended.push(`${id} completed`),
      fail: async ({ id }) => void ended.push(`${id} failed`),
      giveBack: async ({ id }) => void ended.push(`${id} given back`),
      touch: async (held) => {
        desk.touched.push(held.length);
        return held.map(({ id }) => id).filter((id) => !desk.gone.has(id));
      },
    },
    concurrency: 20,
    handler: async () => undefined,
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
  onTestFinished(() => worker.stop(0));
  return { desk, ended, worker };
}

/** A handler that runs until its signal aborts. */
async function untilAborted(_job: ClaimedJob, signal: AbortSignal): Promise<void> {
  await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
}

test("a burst is taken in a few looks, not in one of each place", async () => {
  const { desk, ended } = startWorker(12, {});
  await waitFor("all are done", () => ended.length === 12);
  expect(desk.looks.length).toBeLessThanOrEqual(3);
});

test("no more run at once than there are places, and each that ends makes one", async () => {
  let [now, most] = [0, 0];
  const { ended } = startWorker(9, {
    concurrency: 2,
    async handler() {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
    },
  });
  await waitFor("all are done", () => ended.length === 9);
  expect(most).toBe(2);
});

test("a wake is a look, and the end of a job is none", async () => {
  const { desk, ended, worker } = startWorker(1, {});
  await waitFor("the job is done", () => ended.length === 1);
  const before = desk.looks.length;
  desk.waiting.push(...jobs(1));
  worker.wake();
  await waitFor("the other is done", () => ended.length === 2);
  expect(desk.looks.length).toBe(before + 1);
});

test("what was claimed by another is aborted, and the rest renewed in one call", async () => {
  const { desk, ended } = startWorker(3, { renewMs: 5, handler: untilAborted });
  await waitFor("all are renewed at once", () => desk.touched.includes(3));
  desk.gone.add("job-1");
  await waitFor("its handler has ended", () => ended.includes("job-1 failed"));
  expect(ended).toEqual(["job-1 failed"]);
});

test("a stop gives back what runs, and takes nothing more", async () => {
  const { desk, ended, worker } = startWorker(2, { handler: untilAborted });
  await waitFor("both run", () => desk.waiting.length === 0 && desk.looks.length > 0);
  await worker.stop(10_000);
  expect(ended.toSorted()).toEqual(["job-0 given back", "job-1 given back"]);
  const before = desk.looks.length;
  worker.wake();
  expect(desk.looks.length).toBe(before);
});

test("a handler that does not end is given back all the same", async () => {
  const { desk, ended, worker } = startWorker(1, { handler: () => new Promise(() => undefined) });
  await waitFor("it runs", () => desk.waiting.length === 0 && desk.looks.length > 0);
  await worker.stop(1);
  expect(ended).toEqual(["job-0 given back"]);
});
