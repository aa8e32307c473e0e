import { ProblemError, REPLAY, type ExecutorInfo, type Readiness } from "../../../protocol/index.ts";
import { executorIdOf } from "./executor-names.ts";
import { listIds, type Executors } from "./executors.ts";
import { createExecutorLook, type ExecutorLook } from "./look-at-executor.ts";
import { shareAnswer } from "./shared-answer.ts";

/** How long a client that looks at an executor waits for an answer it has not given yet; CLI A takes 0.9 s for its version. */
const LOOK_WAIT_MS = 2_000;

/** What of the service says whether turns can run, and what ends it. */
export interface ExecutorLooks {
  listExecutors(): Promise<ExecutorInfo[]>;
  getExecutor(id: string): Promise<ExecutorInfo>;
  readiness(): Promise<Readiness>;
  /** What is being looked at for a client is given up, processes and all; later looks are refused. */
  stop(): void;
}

/** Readiness can be asked for without a token: an answer may be this old, and no more than one is made at once. */
const READINESS_KEPT_MS = 1_000;

/** @param checkReadiness - whether a turn could run now, by what the executors show */
export function createExecutorLooks(
  executors: Executors,
  checkReadiness: (looks: readonly ExecutorLook[], signal: AbortSignal) => Promise<Readiness>,
): ExecutorLooks {
  const stopping = new AbortController();
  const looks = new Map<string, ExecutorLook>(
    [...executors.values()].map((runtime) => [runtime.executor.id, createExecutorLook(runtime, stopping.signal)]),
  );
  const readiness = shareAnswer({
    ask: (signal) => checkReadiness([...looks.values()], signal),
    keptMs: () => READINESS_KEPT_MS,
  });
  const lookNow = ({ look }: ExecutorLook): Promise<ExecutorInfo> => look({ provider: "asked", waitMs: LOOK_WAIT_MS });

  async function untilStopped<T>(look: () => Promise<T>): Promise<T> {
    try {
      return await look();
    } catch (error) {
      if (error !== stopping.signal.reason) throw error;
      throw new ProblemError("shutting_down", "turnd is shutting down and looks at nothing any more");
    }
  }

  return {
    listExecutors: () => untilStopped(() => Promise.all([...looks.values()].map(lookNow))),
    async getExecutor(id) {
      if (id === REPLAY) {
        const message = "replay runs no CLI and has nothing to configure; POST /v1/replays plays a recording";
        throw new ProblemError("executor_not_found", message);
      }
      const look = looks.get(executorIdOf(executors, id));
      if (look === undefined) {
        const message = `there is no executor ${id}; there are ${listIds(executors)}`;
        throw new ProblemError("executor_not_found", message);
      }
      return untilStopped(() => lookNow(look));
    },
    readiness: () => untilStopped(() => readiness(stopping.signal)),
    stop: () => stopping.abort(),
  };
}
