import { v7 as uuidv7 } from "uuid";
import { defined } from "../../../../kit/defined.ts";
import { ProblemError, type ReplayRequest, type TurnRequest } from "../../../protocol/index.ts";
import type { SessionFile } from "../../sessions/session-file.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { OwnWorkspaces } from "./own-workspaces.ts";
import type { TurnQueue } from "./queue.ts";
import type { SecretBook } from "../store/secret-book.ts";
import { toSnapshot } from "../store/snapshot.ts";
import type { TurnStore } from "../store/turn-store.ts";
import { findSession, sessionNotFound, unreadableSession } from "./find-session.ts";

export interface ResolveParts {
  readonly sessions: SessionStore;
  readonly secrets: Pick<SecretBook, "forgetSession" | "redactorOf">;
  readonly store: Pick<TurnStore, "liveOfSession">;
  readonly queue: Pick<TurnQueue, "isBusy" | "running" | "waitingCount" | "wouldWait">;
  /** Where a replay works, as it is shown. */
  readonly workspace: string;
  readonly limits: Pick<TurnLimits, "maxQueued">;
  readonly now: () => Date;
  /** Whether a session is being deleted: nothing is let into it any more. */
  readonly isBeingDeleted: (sessionId: string) => boolean;
}

/** Decides on the session of a request, inside the gate of the admission: one request at a time. */
export interface SessionResolver {
  /**
   * @param workspace - checked: what the request names, or the session's; for a new one the root of the workspaces
   * @throws {ProblemError} session_not_found, executor_mismatch, session_busy, queue_full, workspace_unusable
   */
  resolve(request: TurnRequest, workspace: string): Promise<SessionFile>;
  /** @throws {ProblemError} session_not_found, executor_mismatch, queue_full */
  resolveReplay(request: ReplayRequest): Promise<SessionFile>;
  /** @param workspace - as for `resolve` */
  make(request: NewSession, workspace: string): Promise<SessionFile>;
  /** Does some work of one request; where it fails, nothing is left of a session that was made for it. */
  keepingNoneOnFailure<T>(work: () => Promise<T>): Promise<T>;
}

export interface NewSession extends Pick<SessionFile, "executor" | "permissions"> {
  /** Absent: one of its own, unless all share one. */
  readonly workspace?: string | undefined;
  readonly session_id?: string | undefined;
  readonly mcp_servers?: SessionFile["mcp_servers"];
  readonly instructions?: SessionFile["instructions"];
  readonly transport?: SessionFile["transport"];
  readonly metadata?: SessionFile["metadata"];
}

export function createSessionResolver(parts: ResolveParts, workspaces: OwnWorkspaces): SessionResolver {
  const { sessions } = parts;
  /** The session that the request in the gate has made. */
  let made: SessionFile | undefined;

  /** Last of all it makes a session. */
  async function resolve(request: TurnRequest, workspace: string): Promise<SessionFile> {
    const { session_id: sessionId, executor } = request;
    findExisting(sessionId);
    // Once more, inside the gate: a request before this one may have made it, with another executor.
    const existing = findSession(sessions, request);
    if (existing !== undefined) refuseIfBusy(parts, request, existing.session_id);
    refuseIfFull(parts, sessionId);
    if (existing !== undefined) {
      if (request.workspace !== undefined) await workspaces.noteNamed(workspace, existing.session_id);
      return existing;
    }
    if (executor === undefined) throw sessionNotFound(sessionId);
    const id = defined({ session_id: sessionId });
    return make({ executor, permissions: {}, workspace: request.workspace, ...id }, workspace);
  }

  async function resolveReplay({ session_id: sessionId }: ReplayRequest): Promise<SessionFile> {
    refuseIfFull(parts, sessionId);
    const existing = findExisting(sessionId);
    if (existing === undefined) {
      const { workspace } = parts;
      const id = defined({ session_id: sessionId });
      return make({ executor: "replay", permissions: {}, workspace, ...id }, workspace);
    }
    if (existing.executor === "replay") return existing;
    const message = `session ${sessionId} belongs to ${existing.executor}; leave session_id out or name a session of replays`;
    throw new ProblemError("executor_mismatch", message);
  }

  /** No turn is admitted to a session that is being deleted. */
  function findExisting(sessionId: string | undefined): SessionFile | undefined {
    if (sessionId === undefined) return undefined;
    if (sessions.isUnreadable(sessionId)) throw unreadableSession("session_not_found", sessionId);
    const existing = sessions.get(sessionId);
    if (existing !== undefined && parts.isBeingDeleted(existing.session_id)) throw sessionNotFound(sessionId);
    return existing;
  }

  async function make(request: NewSession, workspace: string): Promise<SessionFile> {
    const id = request.session_id ?? uuidv7();
    if (request.workspace !== undefined) await workspaces.noteNamed(workspace, id);
    const own =
      request.workspace === undefined
        ? await workspaces.make(workspace, id, request.session_id !== undefined)
        : undefined;
    const session: SessionFile = {
      v: 1,
      session_id: id,
      executor: request.executor,
      workspace: own ?? workspace,
      ...(own === undefined ? {} : { own_workspace: true }),
      permissions: request.permissions,
      ...defined({
        mcp_servers: request.mcp_servers,
        instructions: request.instructions,
        transport: request.transport,
        metadata: request.metadata,
      }),
      created_at: parts.now().toISOString(),
    };
    try {
      await sessions.create(session);
    } catch (error) {
      await workspaces.withdraw(session);
      throw error;
    }
    made = session;
    return session;
  }

  async function takeBack(): Promise<void> {
    if (made === undefined) return;
    parts.secrets.forgetSession(made.session_id);
    await sessions.withdraw(made.session_id);
    await workspaces.withdraw(made);
  }

  return {
    resolve,
    resolveReplay,
    make,
    async keepingNoneOnFailure(work) {
      made = undefined;
      try {
        return await work();
      } catch (error) {
        await takeBack();
        throw error;
      }
    },
  };
}

function refuseIfBusy({ queue, store, secrets }: ResolveParts, request: TurnRequest, sessionId: string): void {
  if (request.queue_policy === "reject" && queue.isBusy(sessionId)) {
    const running = queue.running(sessionId) ?? store.liveOfSession(sessionId).at(-1);
    const redact = secrets.redactorOf(sessionId);
    const extras = running === undefined ? {} : { turn_id: running.file.turn_id, turn: toSnapshot(running, 0, redact) };
    throw new ProblemError("session_busy", `session ${sessionId} is busy; wait for its turn or enqueue`, extras);
  }
}

/** A turn that can start at once is let in, however few may wait. */
function refuseIfFull({ queue, limits }: ResolveParts, sessionId: string | undefined): void {
  const { maxQueued } = limits;
  if (queue.waitingCount() >= maxQueued && queue.wouldWait(sessionId)) {
    throw new ProblemError(
      "queue_full",
      `the turn would have to wait, and no more than ${maxQueued} may (TURND_MAX_QUEUED)`,
    );
  }
}
