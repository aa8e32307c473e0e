import type { Logger } from "pino";
import type { Continued, Run, RunRequest, RunResult, RunStatus, Submission, SubmitRunBody } from "../protocol/runs.ts";
import type { History, QueueView } from "../protocol/threads.ts";
import type { KnownActor } from "../auth/accounts.ts";
import type { Caller } from "../auth/caller.ts";
import type { Storage } from "../storage/storage.ts";
import { viewQueue } from "../threads/queue-view.ts";
import { findThread } from "../threads/threads.ts";
import { cancelRequest, cancelRun } from "./state/cancel.ts";
import { deleteThread } from "./control/delete-thread.ts";
import type { FinishOptions } from "./state/finish.ts";
import { readHistory, type HistoryPage } from "./read/history.ts";
import { submit } from "./submit/intake.ts";
import type { Intent, AcceptedRequest } from "./submit/intent.ts";
import { continueThread, promoteToSteer } from "./control/queue-controls.ts";
import { readIntent } from "./submit/read-intent.ts";
import { findBlocking } from "./state/rows.ts";
import { findRequest, findRun, listRuns, type RunDetails } from "./read/find-runs.ts";
import { showRequest, showSubmission, showWaiting } from "./read/request-view.ts";
import { showResult, showRun } from "./read/run-view.ts";

export interface RunsOptions {
  readonly storage: Storage;
  readonly finishing: FinishOptions;
  readonly maxQueued: number;
  readonly logger: Logger;
}

/** What callers do with runs and requests. */
export type Runs = ReturnType<typeof createRuns>;

export function createRuns(options: RunsOptions) {
  const { storage, finishing } = options;
  const accept = (caller: Caller, intent: Intent): Promise<AcceptedRequest> => submit(options, caller, intent);

  return {
    /** Accepts a request of any source. */
    accept,

    async submit(
      caller: Caller,
      body: SubmitRunBody,
      given: { requestId?: string | undefined; traceparent?: string | undefined },
    ): Promise<Submission> {
      return showSubmission(storage.db, await accept(caller, readIntent(body, given)));
    },

    async get(caller: Caller, runId: string): Promise<Run> {
      return showRun(await findRun(storage.db, caller.userId, runId));
    },

    find: (caller: Caller, runId: string): Promise<RunDetails> => findRun(storage.db, caller.userId, runId),

    async list(
      caller: Caller,
      filter: {
        thread_id?: string | undefined;
        status?: RunStatus | undefined;
        before?: string | undefined;
        limit: number;
      },
    ): Promise<Run[]> {
      const { thread_id: threadId, status, before, limit } = filter;
      const threadPk = threadId === undefined ? undefined : (await findThread(storage.db, caller.userId, threadId)).pk;
      return (await listRuns(storage.db, { userId: caller.userId, threadPk, status, before, limit })).map(showRun);
    },

    async result(caller: Caller, runId: string): Promise<RunResult> {
      return showResult(await findRun(storage.db, caller.userId, runId));
    },

    /** Of an ended run too, which stays as it is. */
    async cancel(actor: KnownActor, runId: string): Promise<Run> {
      const { run } = await findRun(storage.db, actor.caller.userId, runId);
      await cancelRun(finishing, actor, run);
      return showRun(await findRun(storage.db, actor.caller.userId, runId));
    },

    async request(caller: Caller, requestId: string): Promise<RunRequest> {
      return showRequest(storage.db, await findRequest(storage.db, caller.userId, requestId));
    },

    findRequest: (caller: Caller, requestId: string) => findRequest(storage.db, caller.userId, requestId),

    async cancelRequest(
      actor: KnownActor,
      requestId: string,
    ): Promise<{ request_id: string; status: RunRequest["status"] }> {
      const row = await cancelRequest(storage, actor, await findRequest(storage.db, actor.caller.userId, requestId));
      return { request_id: row.request_id, status: row.status };
    },

    /** What waits in a thread, in order, and what its queue is. */
    async queue(
      caller: Caller,
      threadId: string,
    ): Promise<{ requests: (RunRequest & { content: string })[]; queue: QueueView }> {
      const thread = await findThread(storage.db, caller.userId, threadId);
      return { requests: await showWaiting(storage.db, thread), queue: await viewQueue(storage.db, thread.pk) };
    },

    async activeRun(caller: Caller, threadId: string): Promise<Run | null> {
      const thread = await findThread(storage.db, caller.userId, threadId);
      const blocking = await findBlocking(storage.db, thread.pk);
      return blocking === undefined ? null : showRun(await findRun(storage.db, caller.userId, blocking.id));
    },

    /** Makes a waiting request the steer of the run that blocks its thread. */
    async steerRequest(actor: KnownActor, requestId: string): Promise<RunRequest> {
      const { userId } = actor.caller;
      await promoteToSteer(storage, await findRequest(storage.db, userId, requestId));
      return showRequest(storage.db, await findRequest(storage.db, userId, requestId));
    },

    /** Dispatches the next request of a paused thread; when it completes, the rest follows. */
    continueThread: (actor: KnownActor, threadId: string): Promise<Continued> =>
      continueThread(storage, actor, threadId),

    /** Deletes a thread; see {@link deleteThread}. */
    deleteThread: (actor: KnownActor, threadId: string): Promise<void> => deleteThread(storage, actor, threadId),

    /** The messages, oldest first: the newest page, or the one before a run. */
    history: (caller: Caller, threadId: string, page: HistoryPage): Promise<History> =>
      readHistory(storage.db, caller, threadId, page),
  };
}
