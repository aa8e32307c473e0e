import { setTimeout as delay } from "node:timers/promises";

/** A job that this process has claimed. `retryCount` distinguishes its attempts: writes of an earlier one are refused. */
export interface ClaimedJob {
  readonly id: string;
  readonly retryCount: number;
  readonly expireInSeconds: number;
  readonly groupId?: string | null;
}

/** One queue of the cluster. */
export interface JobSource<Job extends ClaimedJob> {
  /** Claims at most so many, none of these groups. */
  fetch(most: number, except: readonly string[]): Promise<readonly Job[]>;
  /** The groups of waiting jobs that are parts of these, and these. */
  listParts(groups: readonly string[]): Promise<readonly string[]>;
  complete(job: Job): Promise<void>;
  /** The handler failed: the job is tried again by its queue's rules. */
  fail(job: Job, error: unknown): Promise<void>;
  /** This process stops: another one may have the job at once. */
  giveBack(job: Job): Promise<void>;
  /** Says that these are worked on. @returns the ids of those that still are this process's */
  touch(jobs: readonly Job[]): Promise<readonly string[]>;
}

/** How many jobs of a group run at once in this process. A group `a/b` is a part of `a`: its jobs count for both. */
export type GroupLimit = (group: string) => number;

export interface JobWorkerOptions<Job extends ClaimedJob> {
  readonly source: JobSource<Job>;
  readonly concurrency: number;
  /** How many of a group run at once here; absent: as many as there are places. */
  readonly groupLimit?: GroupLimit | undefined;
  /** How often claims are renewed; absent where they last as long as the job may. */
  readonly renewMs?: number | undefined;
  readonly handler: (job: Job, signal: AbortSignal) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/** Takes jobs of one queue, one query for all free places, and one renewal for all that run. */
export interface JobWorker {
  /** Something may be waiting: look now. */
  wake(): void;
  /** Takes no more jobs. */
  halt(): void;
  /** Aborts what runs, and waits until it is given back. @param timeoutMs - what still runs then is given back all the same */
  stop(timeoutMs: number): Promise<void>;
}

/** Most that are claimed at once: another process shall have its part of a burst. */
const MOST_CLAIMED = 8;

/** After a failed handler. */
const REST_MS = 1_000;

interface Running<Job> {
  readonly job: Job;
  readonly claim: AbortController;
  readonly done: Promise<void>;
}

/** Begins at once. */
export function startJobWorker<Job extends ClaimedJob>(options: JobWorkerOptions<Job>): JobWorker {
  const { source, concurrency, groupLimit, renewMs, handler, onFault } = options;
  const running = new Map<Job, Running<Job>>();
  /** Groups that have had a place while others still wait for one: the next place is not theirs. */
  const served = new Set<string>();
  const stopping = new AbortController();
  let isHalted = false;
  let isWoken = false;
  /** The last look took all that there was place for: there may be more. */
  let mayBeMore = false;
  let changed = Promise.withResolvers<void>();

  function signalChange(): void {
    changed.resolve();
    changed = Promise.withResolvers();
  }

  function wake(): void {
    isWoken = true;
    signalChange();
  }

  async function work(job: Job, claim: AbortController): Promise<void> {
    const tooOld = AbortSignal.timeout(job.expireInSeconds * 1_000);
    try {
      await handler(job, AbortSignal.any([claim.signal, stopping.signal, tooOld]));
    } catch (error) {
      if (stopping.signal.aborted) {
        await source.giveBack(job).catch(onFault);
        return;
      }
      await source.fail(job, error).catch(onFault);
      // Its place is held a while longer: a job that fails at once must not be tried a thousand times a second.
      await delay(REST_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      return;
    }
    // Where this fails the claim ends by itself, and the next attempt finds the row done. Law: the row is the truth.
    await source.complete(job).catch(onFault);
  }

  function begin(job: Job): void {
    const claim = new AbortController();
    const done = work(job, claim).finally(() => {
      running.delete(job);
      if (mayBeMore) wake();
      else signalChange();
    });
    running.set(job, { job, claim, done });
  }

  /** Their jobs stay in the queue: they take no place from those of others. */
  function listFullGroups(): string[] {
    const counts = new Map<string, number>();
    for (const { groupId } of running.keys()) {
      for (const group of wholesOf(groupId)) counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    return [...counts].flatMap(([group, count]) => (count >= (groupLimit?.(group) ?? Infinity) ? [group] : []));
  }

  /** One of a group that has waited longest for a place; of the groups that had one since, only when no other waits. */
  async function fetchInTurn(full: readonly string[]): Promise<readonly Job[]> {
    const except = full.length === 0 ? [] : await source.listParts(full);
    const jobs = await source.fetch(1, [...new Set([...except, ...served])]);
    if (jobs.length > 0 || served.size === 0) return jobs;
    served.clear();
    return source.fetch(1, except);
  }

  async function takeAll(): Promise<void> {
    for (;;) {
      const free = concurrency - running.size;
      const full = listFullGroups();
      mayBeMore = free <= 0 || full.length > 0;
      if (free <= 0 || isHalted) return;
      // One by one where groups have limits: what is claimed together may be of one group.
      const most = groupLimit === undefined ? Math.min(MOST_CLAIMED, free) : 1;
      const jobs = groupLimit === undefined ? await source.fetch(most, []) : await fetchInTurn(full);
      for (const job of jobs) {
        // Of a group that was not there when the groups were listed.
        if (wholesOf(job.groupId).some((group) => full.includes(group))) {
          await source.giveBack(job);
          continue;
        }
        if (typeof job.groupId === "string") served.add(job.groupId);
        begin(job);
      }
      if (jobs.length < most) return;
    }
  }

  async function look(): Promise<void> {
    while (!isHalted) {
      isWoken = false;
      try {
        await takeAll();
      } catch (error) {
        onFault(error);
      }
      if (!isHalted && !isWoken) await pause();
    }
  }

  /** Until something wakes it. What ends a job is a change too, and no reason to look. */
  async function pause(): Promise<void> {
    while (!isHalted && !isWoken) await changed.promise;
  }

  async function renew(): Promise<void> {
    const held = [...running.values()].filter(({ claim }) => !claim.signal.aborted);
    if (held.length === 0) return;
    const kept = new Set(await source.touch(held.map(({ job }) => job)));
    for (const { job, claim } of held) {
      // One that has ended meanwhile is not lost.
      if (!kept.has(job.id) && running.has(job)) claim.abort(new Error(`the job ${job.id} is another's now`));
    }
  }

  // A renewal that could not run does not end the claims.
  const renewal = renewMs === undefined ? undefined : setInterval(() => void renew().catch(onFault), renewMs);
  const looking = look();

  function halt(): void {
    isHalted = true;
    signalChange();
  }

  return {
    wake,
    halt,
    async stop(timeoutMs) {
      halt();
      stopping.abort(new Error("the service is stopping"));
      const late = new AbortController();
      const drained = looking.then(() => Promise.all([...running.values()].map(({ done }) => done)));
      await Promise.race([drained, delay(timeoutMs, undefined, { signal: late.signal }).catch(() => undefined)]);
      late.abort();
      clearInterval(renewal);
      for (const { job } of running.values()) await source.giveBack(job).catch(onFault);
    },
  };
}

/** The groups that a job of this group counts for: itself, and what it is a part of. */
function wholesOf(group: string | null | undefined): string[] {
  if (typeof group !== "string") return [];
  const names = group.split("/");
  return names.map((_name, at) => names.slice(0, at + 1).join("/"));
}
