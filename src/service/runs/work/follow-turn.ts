import { setTimeout as delay } from "node:timers/promises";
import { isServerSide } from "../../../kit/retry/passing-status.ts";
import { ProblemError } from "../../../turnd/protocol/index.ts";
import type { TurndClient } from "../../../turnd/client/turnd-client.ts";
import type { AttemptContext } from "./attempt-context.ts";
import { noteMoved } from "../state/claim.ts";
import { pump, type TurnEnded } from "./pump.ts";
import { listAssigned, readContent, readManifest, type RequestRow } from "../state/rows.ts";
import { assignSteer } from "../state/steer.ts";
import { turnBody, assignmentOf } from "./turn-body.ts";

const RETRY_MS = 1_000;
/** An attempt that held its turn's stream for so long did its work, even where the turn had no events. */
const HELD_MS = 60_000;

/** A turn that is being followed, and what is asked of it meanwhile. */
export interface FollowedTurn {
  readonly turnId: string;
  readonly client: TurndClient;
}

/**
 * Follows a turn to its end, writes its events, and hands on what is asked of the run meanwhile: its cancel, its steer.
 *
 * @returns the turn's end, not written yet
 */
export async function followTurn(context: AttemptContext, { turnId, client }: FollowedTurn): Promise<TurnEnded> {
  const { run, storage, owner, signal } = context;
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const works: Promise<void>[] = [];
  const steers = new Map<number, RequestRow>();
  let hasStarted = run.turn_cursor > 0;
  let isCancelling = false;

  const start = (what: string, work: () => Promise<void>): void => {
    works.push(
      work().catch((error: unknown) => {
        // Ended with the turn, or with this attempt; anything else is looked at by the next.
        if (!until.aborted) context.logger.warn({ err: error, runId: run.id }, `${what} failed`);
      }),
    );
  };
  const cancel = (): void => {
    if (isCancelling) return;
    isCancelling = true;
    start("cancel", () => repeat(until, () => client.cancel(turnId, { signal: until })));
  };
  const steer = (request: RequestRow): void => {
    if (steers.has(request.pk)) return;
    steers.set(request.pk, request);
    // Before it has begun, turnd would put the steer before it.
    if (hasStarted) start("steer", () => hand(context, client, request, until));
  };

  const unwatch = context.controls.watch(run.id, { onCancel: cancel, onSteer: steer });
  const held = setTimeout(() => start("note", () => noteMoved(storage.db, owner)), HELD_MS);
  try {
    if (context.isCancelRequested()) cancel();
    // An earlier attempt has assigned them, and may not have sent them.
    for (const request of await listAssigned(storage.db, run.id)) steer(request);
    const { turn_cursor: after } = run;
    const open = (reading: AbortSignal) =>
      client.follow(turnId, { after, lostAfterMs: context.executorLostMs, verify: false, signal: reading });
    return await pump(open, {
      storage,
      owner,
      signal,
      leaseMs: context.leaseMs,
      onWritten(event) {
        if (event.type !== "unreadable") context.observer?.eventWritten(Date.now() - Date.parse(event.at));
        if (hasStarted) return;
        hasStarted = true;
        context.onStep?.("following", run.id);
        for (const request of steers.values()) start("steer", () => hand(context, client, request, until));
      },
    });
  } finally {
    unwatch();
    clearTimeout(held);
    over.abort();
    await Promise.all(works);
  }
}

/** Sends a steer's turn. From the moment that `handed_at` is written turnd may have it, so it runs whatever comes of this one. */
async function hand(
  { storage, source, owner, toolServers }: Pick<AttemptContext, "storage" | "source" | "owner" | "toolServers">,
  client: TurndClient,
  request: RequestRow,
  signal: AbortSignal,
): Promise<void> {
  if (request.manifest_digest === null) throw new Error(`steer ${request.pk} has no manifest`);
  if (request.handed_at === null && !(await assignSteer(storage, owner, request.pk))) return;
  const turn = {
    runId: request.planned_run_id,
    sessionId: source.sessionId,
    threadId: source.threadId,
    queuePolicy: request.queue_policy,
    ...readContent(request),
    manifest: await readManifest(storage.db, request.manifest_digest),
  };
  const work = assignmentOf(turn);
  if (work.kind === "nothing") return;
  const body = turnBody(turn, work, await toolServers(turn));
  await repeat(signal, () => client.submit(body, { traceparent: request.traceparent ?? undefined, signal }));
}

/** Until turnd has done it or refuses it for good. */
async function repeat(signal: AbortSignal, ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await ask();
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProblemError && !isServerSide(error.status)) throw error;
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}
