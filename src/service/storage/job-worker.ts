import { setImmediate as nextLoop, setTimeout as delay } from "node:timers/promises";

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
  /** The groups of jobs that wait, each once. */
  listWaiting(): Promise<readonly string[]>;
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

/** A job's time in its place, while others wait for one. */
export interface JobTurn {
  /**
   * Whether it is to leave its place: it has had it for its time, and a job of a group that has none could begin there.
   * Asked between two steps of long work. The handler then ends by throwing; its job goes back to the queue, behind theirs.
   */
  isOver(): Promise<boolean>;
}

export interface JobWorkerOptions<Job extends ClaimedJob> {
  readonly source: JobSource<Job>;
  readonly concurrency: number;
  /** How many of a group run at once here; absent: as many as there are places. */
  readonly groupLimit?: GroupLimit | undefined;
  /** How long a job keeps its place at least while others wait for one; absent: as long as it takes. */
  readonly turnMs?: number | undefined;
  /** How often claims are renewed; absent where they last as long as the job may. */
  readonly renewMs?: number | undefined;
  readonly handler: (job: Job, signal: AbortSignal, turn: JobTurn) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/**
 * Works on the jobs of one queue: one query for all free places, one renewal for all that run. Instead of the workers of
 * pg-boss, whose groups have no turns: docs/decisions/places-are-shared-by-own-worker.md.
 */
export interface JobWorker {
  /** Something may be waiting: look now. */
  wake(): void;
  /** Claims no more jobs. */
  halt(): void;
  /** Aborts what runs, and waits until it is given back. @param timeoutMs - what still runs then is given back all the same */
  stop(timeoutMs: number): Promise<void>;
}

/** Most that are claimed at once: another process shall have its part of a burst. */
const MOST_CLAIMED = 8;

/** After a failed handler. */
const REST_MS = 1_000;
/** Groups whose last place is remembered. */
const MOST_SERVED = 10_000;

interface Running<Job> {
  readonly job: Job;
  readonly claim: AbortController;
  readonly beganAt: number;
  /** Its turn is over: its place is promised to another. */
  isLeaving: boolean;
  done: Promise<void>;
}

/** Begins at once. */
export function startJobWorker<Job extends ClaimedJob>(options: JobWorkerOptions<Job>): JobWorker {
  const { source, concurrency, groupLimit, turnMs = Infinity, renewMs, handler, onFault } = options;
  const running = new Map<Job, Running<Job>>();
  /** Groups that have had a place, the one that had it last at the end: the next place is not its. */
  const served = new Set<string>();
  const stopping = new AbortController();
  let isHalted = false;
  let isWoken = false;
  /** The last look filled all places: there may be more. */
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

  async function work(held: Running<Job>): Promise<void> {
    const { job, claim } = held;
    const tooOld = AbortSignal.timeout(job.expireInSeconds * 1_000);
    try {
      const signal = AbortSignal.any([claim.signal, stopping.signal, tooOld]);
      await handler(job, signal, { isOver: () => isTurnOver(held) });
    } catch (error) {
      if (stopping.signal.aborted || held.isLeaving) {
        await source.giveBack(job).catch(onFault);
        // PGlite answers without the event loop: jobs that hand one place to each other would keep it from everything else.
        await nextLoop();
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
    const held: Running<Job> = {
      job,
      claim: new AbortController(),
      beganAt: performance.now(),
      isLeaving: false,
      done: Promise.resolve(),
    };
    running.set(job, held);
    held.done = work(held).finally(() => {
      running.delete(job);
      if (mayBeMore) wake();
      else signalChange();
    });
  }

  /** How many of each group run, without one of them. */
  function countGroups(without?: Job): Map<string, number> {
    const counts = new Map<string, number>();
    for (const job of running.keys()) {
      if (job === without) continue;
      for (const group of wholesOf(job.groupId)) counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    return counts;
  }

  function isFull(group: string, counts: ReadonlyMap<string, number>): boolean {
    return wholesOf(group).some((whole) => (counts.get(whole) ?? 0) >= (groupLimit?.(whole) ?? Infinity));
  }

  async function isTurnOver(held: Running<Job>): Promise<boolean> {
    if (held.isLeaving || performance.now() - held.beganAt < turnMs) return held.isLeaving;
    const waiting = await source.listWaiting();
    const counts = countGroups();
    /** Those that could begin in this one's place, and in no free one. */
    const waitFor = ({ job }: Running<Job>): string[] => {
      const others = countGroups(job);
      const isBlocked = (group: string): boolean => running.size >= concurrency || isFull(group, counts);
      return waiting.filter((group) => group !== job.groupId && isBlocked(group) && !isFull(group, others));
    };
    const theirs = waitFor(held);
    const leaving = [...running.values()].filter((other) => other.isLeaving && waitFor(other).length > 0);
    held.isLeaving = theirs.length > leaving.length;
    return held.isLeaving;
  }

  /** One of the group that has waited longest for a place. */
  async function fetchInTurn(): Promise<readonly Job[]> {
    const waiting = await source.listWaiting();
    mayBeMore = waiting.length > 0;
    const counts = countGroups();
    const open = waiting.filter((group) => !isFull(group, counts));
    const unserved = open.filter((group) => !served.has(group));
    const next = unserved.length > 0 ? unserved : [...served].filter((group) => open.includes(group)).slice(0, 1);
    if (next.length === 0) return [];
    return source.fetch(
      1,
      waiting.filter((group) => !next.includes(group)),
    );
  }

  function noteServed(group: string): void {
    served.delete(group);
    served.add(group);
    const [oldest] = served;
    if (served.size > MOST_SERVED && oldest !== undefined) served.delete(oldest);
  }

  async function fillPlaces(): Promise<void> {
    for (;;) {
      const free = concurrency - running.size;
      mayBeMore = free <= 0;
      if (free <= 0 || isHalted) return;
      // One by one where groups have limits: what is claimed together may be of one group.
      const most = groupLimit === undefined ? Math.min(MOST_CLAIMED, free) : 1;
      const jobs = groupLimit === undefined ? await source.fetch(most, []) : await fetchInTurn();
      for (const job of jobs) {
        const { groupId } = job;
        // Of a group that was not there when the groups were listed.
        if (typeof groupId === "string" && isFull(groupId, countGroups())) {
          await source.giveBack(job);
          continue;
        }
        if (typeof groupId === "string") noteServed(groupId);
        begin(job);
      }
      if (jobs.length < most) return;
    }
  }

  async function look(): Promise<void> {
    while (!isHalted) {
      isWoken = false;
      try {
        await fillPlaces();
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
