import type { ExecutorInfo } from "../../../protocol/index.ts";
import type { ExecutorRuntime } from "./executor-runtime.ts";

/** Whose answer is waited for besides the CLI's: the provider is asked, or only its last answer is taken. */
type Provider = "asked" | "known";

/** Looks at an executor for a client, who never waits longer than given. */
export interface ExecutorLook {
  /**
   * Describes the executor.
   *
   * Looks at the same time are one. A look that lasts longer goes on, and is answered for meanwhile by the one before it, or by
   * what is known without one, with `checking`; time that it has lasted already counts, so that later clients do not wait again.
   */
  look(options: { readonly provider: Provider; readonly waitMs: number }): Promise<ExecutorInfo>;
}

interface RunningLook {
  readonly info: Promise<ExecutorInfo>;
  readonly startedAt: number;
}

/** @param stopping - aborts when turnd stops: ends what is asked of a CLI, which may go on after the answer */
export function createExecutorLook(runtime: ExecutorRuntime, stopping: AbortSignal): ExecutorLook {
  const running = new Map<Provider, RunningLook>();
  let last: ExecutorInfo | undefined;

  function begin(provider: Provider): RunningLook {
    const info = runtime.describe(provider, stopping);
    const begun = { info, startedAt: performance.now() };
    running.set(provider, begun);
    const forget = (): void => void running.delete(provider);
    const keep = (found: ExecutorInfo): void => {
      last = found;
      forget();
    };
    // A failure is thrown to every caller that waits, and to the next one.
    info.then(keep, forget);
    return begun;
  }

  return {
    async look({ provider, waitMs }) {
      // What can be known without the provider is known in time, however long that takes.
      if (provider === "asked") void (running.get("known") ?? begin("known"));
      const { info, startedAt } = running.get(provider) ?? begin(provider);
      const leftMs = waitMs - (performance.now() - startedAt);
      const found = await withinMs(info, leftMs);
      if (found !== undefined) return found;
      return { ...(last ?? runtime.describeUnknown()), drift: runtime.drift.report(), checking: true };
    },
  };
}

/** @returns undefined when the time is over first */
async function withinMs<T>(work: Promise<T>, limitMs: number): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), Math.max(0, limitMs));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
