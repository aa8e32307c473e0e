import { setTimeout as delay } from "node:timers/promises";

type Step = () => Promise<unknown>;

export interface StopPlan {
  /** End what runs, all at once. */
  readonly ends: readonly Step[];
  /** Close what is left, whether that has ended or not, all at once. */
  readonly closes: readonly Step[];
  /** Time limit of `ends`. */
  readonly boundMs: number;
  /** Additional time for `closes`. */
  readonly lastMs: number;
  /** Called for the part that did not finish in time; it is waited for no longer. */
  readonly onLate: (what: "ends" | "closes") => void;
}

/**
 * Ends what runs and closes what is left. A step that fails or hangs does not stop the other steps.
 *
 * Settles within `boundMs` and `lastMs` together.
 * @throws {AggregateError} of everything that failed by then
 */
export async function stopWithin({ ends, closes, boundMs, lastMs, onLate }: StopPlan): Promise<void> {
  const startedAt = performance.now();
  const faults: unknown[] = [];
  const take = async (step: Step): Promise<void> => {
    try {
      await step();
    } catch (error) {
      faults.push(error);
    }
  };
  if (!(await within(Promise.all(ends.map(take)), boundMs))) onLate("ends");
  const leftMs = Math.max(0, boundMs + lastMs - (performance.now() - startedAt));
  if (!(await within(Promise.all(closes.map(take)), leftMs))) onLate("closes");
  if (faults.length > 0) throw new AggregateError(faults, "turnd could not end or close all of its work");
}

/** Whether some work finished within a time limit. */
async function within(work: Promise<unknown>, boundMs: number): Promise<boolean> {
  const late = new AbortController();
  const isDone = await Promise.race([work.then(() => true), delay(boundMs, false, { signal: late.signal })]);
  late.abort();
  return isDone;
}
