import { defined } from "../../../kit/defined.ts";
import { TurndProtocolError, TurndUnreachable } from "../../../turnd/client/errors.ts";
import { ProblemError, type Session, type Tolerant } from "../../../turnd/protocol/index.ts";
import type { TurndClient } from "../../../turnd/client/turnd-client.ts";
import type { Sandbox } from "../../sandboxes/sandboxes.ts";
import { append } from "../state/append.ts";
import type { AttemptContext } from "./attempt-context.ts";
import { CancelledBeforeTurn, OwnershipLost } from "../state/failures.ts";
import { retryUntilDone } from "./ask-turnd.ts";
import { turnBody, type TurnSource, type Assignment } from "./turn-body.ts";

/** The turn of a run. */
export interface EnsuredTurn {
  readonly turnId: string;
  /** The thread's conversation so far is lost. */
  readonly isDegraded: boolean;
}

/**
 * The run's turn: the one an earlier attempt has begun, or a new one; never two. Law: a turn runs at most once.
 *
 * @throws {RunFailure} when a turn was begun and is gone
 * @throws {CancelledBeforeTurn}
 */
export async function ensureTurn(
  context: AttemptContext,
  sandbox: Sandbox,
  work: Extract<Assignment, { kind: "turn" }>,
): Promise<EnsuredTurn> {
  const { run, source, retry } = context;
  const { client } = sandbox;
  if (run.turn_id !== null) return { turnId: run.turn_id, isDegraded: false };
  let isDegraded = false;
  if (run.turn_request_id === null) {
    const session = await retryUntilDone(
      retry,
      () => false,
      (signal) => ensureSession(context, client, signal),
    );
    if (context.isCancelRequested()) throw new CancelledBeforeTurn();
    isDegraded = await noteLostConversation(context, session);
    await setTurn(context, { turn_request_id: run.id });
  } else {
    const known = await retryUntilDone(
      retry,
      () => true,
      (signal) => findTurn(client, source, signal),
    );
    if (known !== undefined) return keepTurn(context, sandbox, known, false);
    if (context.isCancelRequested()) throw new CancelledBeforeTurn();
  }
  const turnId = await admit(context, client, work);
  context.observer?.turnAdmitted(Date.now() - run.created_at.getTime());
  return keepTurn(context, sandbox, turnId, isDegraded);
}

/**
 * The turn of a run that may have been sent; undefined: it was never taken.
 *
 * Only a turnd that has the session it was sent to can answer. So a run that was begun never makes its session anew: on a volume
 * that was lost there would be no trace left of a turn that may have run. Law: a turn runs at most once.
 * @throws {ProblemError} `session_not_found` where turnd has lost its state
 */
async function findTurn(
  client: TurndClient,
  { runId, sessionId }: TurnSource,
  signal: AbortSignal,
): Promise<string | undefined> {
  const known = await client.turnOfRequest(runId, { signal });
  if (known === undefined) await client.session(sessionId, { signal });
  return known?.turn_id;
}

/**
 * Sends the turn until turnd has taken or refused it.
 *
 * A lost answer does not show what became of the turn: turnd is asked for it before it is sent again. Law: a turn runs
 * at most once.
 * @throws {CancelledBeforeTurn} when turnd answers that it has none
 */
async function admit(
  {
    source,
    retry,
    traceparent,
    isCancelRequested,
    toolServers,
  }: Pick<AttemptContext, "source" | "retry" | "traceparent" | "isCancelRequested" | "toolServers">,
  client: TurndClient,
  work: Extract<Assignment, { kind: "turn" }>,
): Promise<string> {
  const body = turnBody(source, work, await toolServers(source));
  let isUncertain = false;
  return retryUntilDone(
    retry,
    () => isUncertain,
    async () => {
      if (isUncertain) {
        const known = await findTurn(client, source, retry.signal);
        if (known !== undefined) return known;
        if (isCancelRequested()) throw new CancelledBeforeTurn();
      }
      try {
        return (await client.submit(body, { traceparent, signal: retry.signal })).turn_id;
      } catch (error) {
        if (isRefusal(error)) {
          isUncertain = false;
          throw error;
        }
        isUncertain = true;
        // Whatever broke the answer, the next look finds out what became of the turn.
        throw error instanceof TurndProtocolError ? new TurndUnreachable(error.message, error) : error;
      }
    },
  );
}

/** An answer of turnd that it has not taken the turn. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ProblemError)) return false;
  return error.status < 500 || error.code === "shutting_down" || error.code === "storage_full";
}

async function keepTurn(
  context: Pick<AttemptContext, "storage" | "owner">,
  sandbox: Pick<Sandbox, "id" | "generation">,
  turnId: string,
  isDegraded: boolean,
): Promise<EnsuredTurn> {
  await setTurn(context, {
    turn_request_id: context.owner.runId,
    turn_id: turnId,
    sandbox_id: sandbox.id,
    sandbox_generation: sandbox.generation,
  });
  return { turnId, isDegraded };
}

async function setTurn(
  { storage, owner }: Pick<AttemptContext, "storage" | "owner">,
  columns: { turn_request_id: string; turn_id?: string; sandbox_id?: string; sandbox_generation?: number },
): Promise<void> {
  const { numUpdatedRows } = await storage.db
    .updateTable("run")
    .set(columns)
    .where("id", "=", owner.runId)
    .where("attempt", "=", owner.attempt)
    .where("status", "in", ["running", "cancel_requested"])
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new OwnershipLost(owner.runId);
}

/** The thread's session. One that has had a turn is looked for first, and a new one is made first: mostly one call either way. */
async function ensureSession(
  { source, sandboxes, scope, lastTurnId }: Pick<AttemptContext, "source" | "sandboxes" | "scope" | "lastTurnId">,
  client: TurndClient,
  signal: AbortSignal,
): Promise<Tolerant<Session>> {
  const workspace = await sandboxes.prepareWorkspace(scope);
  if (lastTurnId !== null) {
    const known = await findSession(client, source.sessionId, signal);
    if (known !== undefined) return known;
  }
  try {
    return await client.createSession(
      {
        executor: source.manifest.executor,
        session_id: source.sessionId,
        permissions: source.manifest.permissions,
        ...defined({ workspace }),
      },
      { signal },
    );
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "session_exists") throw error;
    return client.session(source.sessionId, { signal });
  }
}

async function findSession(
  client: TurndClient,
  id: string,
  signal: AbortSignal,
): Promise<Tolerant<Session> | undefined> {
  try {
    return await client.session(id, { signal });
  } catch (error) {
    if (error instanceof ProblemError && error.code === "session_not_found") return undefined;
    throw error;
  }
}

/** The CLI begins anew where the thread's last turn is not one of the session's. */
async function noteLostConversation(
  { storage, owner, lastTurnId }: Pick<AttemptContext, "storage" | "owner" | "lastTurnId">,
  session: Tolerant<Session>,
): Promise<boolean> {
  if (lastTurnId === null || session.turns.includes(lastTurnId)) return false;
  const payload = { name: "svc.resume_degraded", requested: lastTurnId, reason: "session_lost" };
  await append(storage, owner, [{ event: "custom", payload }], { isNoticed: true });
  return true;
}
