import { ProblemError } from "../../protocol/index.ts";
import type { RunAs } from "../process/run-as.ts";
import { startFileWorker, WorkerError, type FileTask, type FileWorker } from "../process/user-files/file-worker.ts";
import type { WorkspacePath } from "./file-path.ts";
import type { Workspace } from "./file-service.ts";
import { asRefusal, refusalOf } from "./refusals.ts";

export interface WorkerOptions {
  readonly runAs: RunAs;
  /** Most workers at once. */
  readonly maxTransfers: number;
  /** Milliseconds without progress after which a worker is ended. */
  readonly stallMs: number;
}

/**
 * Starts a worker with a place of its own, which is free again when the worker has ended.
 *
 * @throws {ProblemError} too_many_transfers, resources_exhausted
 */
export type StartWorker = (
  where: Workspace,
  path: WorkspacePath,
  task: FileTask["task"],
  options?: readonly string[],
) => Promise<FileWorker>;

export interface Workers {
  readonly start: StartWorker;
  /** Whether something works on the files of that session. */
  isInUse(sessionId: string): boolean;
  /** Resolves when nothing works on the files of that session any more; who waits for it is told why. */
  end(sessionId: string, reason: Error): Promise<void>;
}

export function createWorkers({ runAs, maxTransfers, stallMs }: WorkerOptions): Workers {
  let open = 0;
  const working = new Map<FileWorker, string>();

  const start: StartWorker = async ({ sessionId, workspace, left }, path, task, options = []) => {
    if (open >= maxTransfers) {
      const message = `${maxTransfers} requests for files are being answered, the limit of TURND_MAX_TRANSFERS`;
      throw new ProblemError("too_many_transfers", message);
    }
    open += 1;
    let isOpen = true;
    const release = (): void => {
      if (isOpen) open -= 1;
      isOpen = false;
    };
    try {
      const worker = await startFileWorker({ runAs, task, workspace, path: path.bytes, options, stallMs });
      const leave = (): void => worker.giveUp(new WorkerError("its client has left"));
      left?.addEventListener("abort", leave, { once: true });
      if (left?.aborted === true) leave();
      const done = (): void => {
        left?.removeEventListener("abort", leave);
        working.delete(tracked);
        release();
      };
      const tracked = { ...worker, end: () => worker.end().finally(done) };
      working.set(tracked, sessionId);
      return tracked;
    } catch (error) {
      release();
      throw asRefusal(error);
    }
  };

  return {
    start,
    isInUse: (sessionId) => [...working.values()].includes(sessionId),
    async end(sessionId, reason) {
      const found = [...working].filter(([, id]) => id === sessionId).map(([worker]) => worker);
      for (const worker of found) worker.giveUp(reason);
      await Promise.all(found.map((worker) => worker.end()));
    },
  };
}

/**
 * The next line of a worker's answer.
 *
 * @throws {ProblemError} for an answer that begins with `error`
 * @throws {WorkerError} where there is none
 */
export async function expectLine(worker: FileWorker): Promise<string> {
  const line = await worker.readLine();
  if (line === undefined) {
    throw worker.stalled.aborted ? worker.stalled.reason : new WorkerError("it ended before it had answered");
  }
  if (line.startsWith("error ")) throw refusalOf(line.slice("error ".length));
  return line;
}
