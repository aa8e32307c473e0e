import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { append } from "../state/append.ts";
import { claim, handOver, type Claim } from "../state/claim.ts";
import type { AttemptContext, AttemptOptions } from "./attempt-context.ts";
import { ensureTurn } from "./ensure-turn.ts";
import { CancelledBeforeTurn, OwnershipLost, RunFailure } from "../state/failures.ts";
import { finish, type Outcome } from "../state/finish.ts";
import type { Ownership } from "../state/rows.ts";
import { followTurn } from "./follow-turn.ts";
import { outcomeOf } from "./outcome.ts";
import type { Sandbox } from "../../sandboxes/sandboxes.ts";
import type { Storage } from "../../storage/storage.ts";
import { explainRefusal, retryUntilDone, type RetryOptions } from "./ask-turnd.ts";
import { readContent, type RunRow } from "../state/rows.ts";
import { traceFields } from "../state/trace-id.ts";
import { assignmentOf } from "./turn-body.ts";

/** Lost attempts in a row that did nothing; the next one is not made. */
const MOST_STALLED = 3;

/** Names this process among the workers. */
export function nameWorker(): string {
  return `${process.pid}-${randomUUID().slice(0, 8)}`;
}

/**
 * Works on a run until it has ended: takes it over, finds or begins its turn, writes the turn's events, and ends the run.
 *
 * @throws when another attempt has to go on: this one was stopped, or met a fault
 */
export async function attemptRun(options: AttemptOptions, runId: string, signal: AbortSignal): Promise<void> {
  const { storage, finishing } = options;
  const claimed = await claim(storage, runId, options.worker);
  if (claimed === undefined) return;
  options.onStep?.("claimed", runId);
  const { run, stalledAttempts } = claimed;
  const owner = { runId, threadPk: run.thread_pk, attempt: run.attempt };
  let { logger } = options;
  try {
    // Before anything that could have ended the attempts before this one.
    if (stalledAttempts >= MOST_STALLED) {
      const message = `${MOST_STALLED} attempts in a row were lost before they had done anything`;
      throw new RunFailure("attempts_exhausted", message);
    }
    const context = createContext(options, { ...claimed, owner }, signal);
    ({ logger } = context);
    logger.debug({ runId, attempt: run.attempt }, "attempt at a run began");
    const outcome = await execute(context);
    options.onStep?.("ended", runId);
    await finish(finishing, owner, outcome);
  } catch (error) {
    await settle({ finishing, storage, logger }, { run, owner, signal }, error);
  }
}

interface OwnedRun {
  readonly run: RunRow;
  readonly owner: Ownership;
}

/** What an attempt's fault means: the run's failure, nothing, or the next attempt's turn. */
async function settle(
  { finishing, storage, logger }: Pick<AttemptOptions, "finishing" | "storage" | "logger">,
  { run, owner, signal }: OwnedRun & { readonly signal: AbortSignal },
  fault: unknown,
): Promise<void> {
  if (fault instanceof OwnershipLost) return;
  if (signal.aborted) {
    await handOver(storage, run.id, owner.attempt);
    throw fault;
  }
  const known = explainRefusal(fault, run.turn_request_id !== null);
  const outcome: Outcome | undefined =
    known instanceof CancelledBeforeTurn
      ? { status: "cancelled", reason: "cancelled_by_user" }
      : known instanceof RunFailure
        ? { status: "failed", error: known.error }
        : undefined;
  if (outcome === undefined) {
    logger.error({ err: fault, runId: run.id, attempt: owner.attempt }, "an attempt at a run failed");
    throw fault;
  }
  try {
    await finish(finishing, owner, outcome);
  } catch (error) {
    if (!(error instanceof OwnershipLost)) throw error;
  }
}

async function execute(context: AttemptContext): Promise<Outcome> {
  const { run, retry } = context;
  const work = assignmentOf(context.source);
  if (work.kind === "nothing") return { status: "completed", reason: "rejected_plan", output: "" };
  if (context.isCancelRequested() && run.turn_request_id === null) throw new CancelledBeforeTurn();
  const unwatch = context.controls.watch(run.id, { onCancel: context.noteCancel, onSteer: () => undefined });
  let sandbox: Sandbox;
  let turn: Awaited<ReturnType<typeof ensureTurn>>;
  try {
    sandbox = await retryUntilDone(
      retry,
      () => run.turn_request_id !== null,
      (signal) => context.sandboxes.acquire(context.scope, signal),
    );
    context.onStep?.("sandbox", run.id);
    turn = await ensureTurn(context, sandbox, work);
  } finally {
    unwatch();
  }
  context.onStep?.("turn", run.id);
  const ended = await followTurn(context, { turnId: turn.turnId, client: sandbox.client }).catch((error: unknown) => {
    throw explainRefusal(error, true);
  });
  const outcome = outcomeOf(ended.data, work, work.needsApproval ? await lastPlan(context.storage, run.id) : undefined);
  return { ...outcome, isDegraded: outcome.isDegraded === true || turn.isDegraded, turnCursor: ended.seq };
}

/** The entries of the last plan that the run has shown. */
async function lastPlan(storage: Storage, runId: string): Promise<readonly unknown[] | undefined> {
  const row = await storage.db
    .selectFrom("run_event")
    .select(sql`payload -> 'entries'`.as("entries"))
    .where("run_id", "=", runId)
    .where("event", "=", "custom")
    .where(sql`payload ->> 'name'`, "=", "svc.plan")
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  const entries = row?.entries;
  return Array.isArray(entries) ? entries : undefined;
}

function createContext(
  options: AttemptOptions,
  { run, owner, context: { request, thread, manifest, lastTurnId } }: OwnedRun & Pick<Claim, "context">,
  signal: AbortSignal,
): AttemptContext {
  const { storage } = options;
  const cancelled = new AbortController();
  const noteCancel = (): void => cancelled.abort(new CancelledBeforeTurn());
  if (run.status === "cancel_requested") noteCancel();
  const reported = new Set<string>();
  const retry: RetryOptions = {
    lostAfterMs: options.executorLostMs,
    signal,
    cancelled: cancelled.signal,
    async onWaiting(reason) {
      if (reported.has(reason)) return;
      reported.add(reason);
      await append(storage, owner, [{ event: "custom", payload: { name: "svc.waiting", reason } }], {
        isNoticed: true,
      });
    },
  };
  return {
    ...options,
    logger: options.logger.child(traceFields(request.traceparent)),
    run,
    owner,
    signal,
    retry,
    source: {
      runId: run.id,
      sessionId: thread.session_id,
      threadId: thread.id,
      queuePolicy: request.queue_policy,
      ...readContent(request),
      manifest,
    },
    lastTurnId,
    scope: {
      threadPk: run.thread_pk,
      sessionId: thread.session_id,
      userId: run.user_id,
      sandboxId: thread.sandbox_id,
    },
    traceparent: request.traceparent ?? undefined,
    isCancelRequested: () => cancelled.signal.aborted,
    noteCancel,
  };
}
