import { defined } from "../../../kit/defined.ts";
import { ProblemError, type Session, type TurnSnapshot } from "../../protocol/index.ts";
import type { SessionFile } from "../sessions/session-file.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import { unreadableSession } from "./admission/find-session.ts";
import { hasEnded, type ListedTurn, type Turn } from "./lifecycle/turn.ts";
import type { TurnQueue } from "./admission/queue.ts";
import type { SecretBook } from "./store/secret-book.ts";
import { toSnapshot } from "./store/snapshot.ts";
import type { Tombstones } from "./store/tombstones.ts";
import { describeUnreadable, type TurnStore } from "./store/turn-store.ts";

export interface FindParts {
  readonly sessions: Pick<SessionStore, "get" | "isUnreadable">;
  readonly store: Pick<
    TurnStore,
    "get" | "getUnreadable" | "findRequest" | "findUnreadable" | "lostRequests" | "turnIds" | "countOfSession"
  >;
  readonly queue: Pick<TurnQueue, "position" | "running">;
  readonly secrets: Pick<SecretBook, "redactorOf">;
  readonly tombstones: Pick<Tombstones, "find" | "fault">;
}

/** Finds turns and sessions for clients. What is not there, or cannot be read, is a `ProblemError`. */
export interface Finder {
  /** @throws {ProblemError} turn_not_found */
  find(turnId: string): Turn;
  /** @throws {ProblemError} turn_not_found, turn_not_ended */
  findEnded(turnId: string): Turn;
  /** @throws {ProblemError} session_not_found */
  findSession(sessionId: string): SessionFile;
  /** @throws {ProblemError} request_not_found, session_not_found */
  findRequest(requestId: string): TurnSnapshot;
  snapshot(turn: ListedTurn): TurnSnapshot;
  toSession(session: SessionFile): Session;
}

/** A session of more names its newest ones; `GET /v1/turns` has all. */
const MAX_TURN_IDS = 1_000;

export function createFinder({ sessions, store, queue, secrets, tombstones }: FindParts): Finder {
  function find(turnId: string): Turn {
    const turn = store.get(turnId);
    if (turn !== undefined) return turn;
    const { session_id: sessionId } = store.getUnreadable(turnId) ?? {};
    if (sessionId === undefined) throw new ProblemError("turn_not_found", `there is no turn ${turnId}`);
    const message = `turn ${turnId} is there and cannot be read; turnd's log says why, and deleting its session, ${sessionId}, removes it`;
    throw new ProblemError("turn_not_found", message);
  }
  function findSession(sessionId: string): SessionFile {
    const session = sessions.get(sessionId);
    if (session !== undefined) return session;
    if (sessions.isUnreadable(sessionId)) throw unreadableSession("session_not_found", sessionId);
    throw new ProblemError("session_not_found", `there is no session ${sessionId}`);
  }
  const snapshot = (turn: ListedTurn): TurnSnapshot =>
    toSnapshot(turn, queue.position(turn), secrets.redactorOf(turn.file.session_id));
  function findEnded(turnId: string): Turn {
    const turn = find(turnId);
    if (hasEnded(turn)) return turn;
    const message = `turn ${turnId} is ${turn.status}; wait for its end on its events`;
    throw new ProblemError("turn_not_ended", message, { turn: snapshot(turn) });
  }
  function findRequest(requestId: string): TurnSnapshot {
    const turn = store.findRequest(requestId);
    if (turn !== undefined) return snapshot(turn);
    const lost = store.findUnreadable(requestId);
    if (lost !== undefined)
      throw new ProblemError("request_not_found", describeUnreadable(lost), { turn_id: lost.turn_id });
    const stone = tombstones.find(requestId);
    const fault = tombstones.fault() ?? store.lostRequests();
    const doubt = fault === undefined ? "" : ` that can be read; it may have run: ${fault}`;
    if (stone === undefined) throw new ProblemError("request_not_found", `there is no request ${requestId}${doubt}`);
    const message = `request ${requestId} ran in session ${stone.session_id}, which was deleted`;
    throw new ProblemError("session_not_found", message, { turn_id: stone.turn_id });
  }

  function toSession(session: SessionFile): Session {
    const running = queue.running(session.session_id);
    return {
      session_id: session.session_id,
      executor: session.executor,
      workspace: session.workspace,
      permissions: session.permissions,
      ...defined({
        mcp_servers: session.mcp_servers,
        instructions: session.instructions,
        transport: session.transport,
        metadata: session.metadata,
        native_session_id: session.native_session_id,
      }),
      created_at: session.created_at,
      turns: [...store.turnIds(session.session_id, MAX_TURN_IDS)],
      turn_count: store.countOfSession(session.session_id),
      ...defined({ running_turn: running?.file.turn_id }),
    };
  }

  return { find, findEnded, findSession, findRequest, snapshot, toSession };
}
