import PQueue from "p-queue";
import { hasEnded, type ListedTurn, type Turn } from "../lifecycle/turn.ts";

/** Which turn runs when: one at a time per session, first in first out, sessions side by side. */
export interface TurnQueue {
  /** Puts an admitted turn in line. */
  push(turn: Turn): void;
  /** Makes it the next turn of its session. */
  pushFirst(turn: Turn): void;
  /** Takes a waiting turn out of line; false when it is not waiting. */
  remove(turn: Turn): boolean;
  /** A session's turns that wait, the next one first. */
  waiting(sessionId: string): readonly Turn[];
  /** Turns ahead of this one in its session; 0 when it runs or has ended. */
  position(turn: ListedTurn): number;
  waitingCount(): number;
  /** Whether a turn that is pushed now would wait; without an id, one of a new session. */
  wouldWait(sessionId?: string): boolean;
  runningCount(): number;
  /** A session's turn that runs; none from the moment on that its end can be seen. */
  running(sessionId: string): Turn | undefined;
  isBusy(sessionId: string): boolean;
  /** Starts nothing more; resolves when nothing runs. */
  drain(): Promise<void>;
}

export interface TurnQueueOptions {
  readonly maxTurns: number;
  /** Runs one turn to its end; it counts as running before this returns. Must not throw. */
  readonly run: (turn: Turn) => Promise<void>;
  /** Called where it has thrown all the same: the queue goes on with the next turn. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Makes the queue.
 *
 * A session has at most one turn among those that wait for a free place, and goes to the back of that line after each:
 * so a session with a hundred turns does not keep the others waiting.
 */
export function createTurnQueue({ maxTurns, run, onFault }: TurnQueueOptions): TurnQueue {
  const places = new PQueue({ concurrency: maxTurns });
  const waiting = new Map<string, Turn[]>();
  const scheduled = new Set<string>();
  const running = new Map<string, Turn>();
  let isDraining = false;

  function schedule(sessionId: string): void {
    if (isDraining || scheduled.has(sessionId) || (waiting.get(sessionId)?.length ?? 0) === 0) return;
    scheduled.add(sessionId);
    places.add(() => runNext(sessionId)).catch(onFault);
  }

  async function runNext(sessionId: string): Promise<void> {
    const line = waiting.get(sessionId);
    const turn = isDraining ? undefined : line?.shift();
    if (line?.length === 0) waiting.delete(sessionId);
    if (turn !== undefined) {
      running.set(sessionId, turn);
      await run(turn).catch(onFault);
      running.delete(sessionId);
    }
    scheduled.delete(sessionId);
    schedule(sessionId);
  }

  function runningIn(sessionId: string): Turn | undefined {
    const turn = running.get(sessionId);
    return turn === undefined || hasEnded(turn) ? undefined : turn;
  }

  /** Places that are taken: one whose turn has ended is about to be free. */
  function takenPlaces(): number {
    const isTaken = (id: string): boolean => waiting.has(id) || !running.has(id) || runningIn(id) !== undefined;
    return [...scheduled].filter(isTaken).length;
  }

  function enter(turn: Turn, add: (line: Turn[]) => void): void {
    const { session_id } = turn.file;
    const line = waiting.get(session_id) ?? [];
    waiting.set(session_id, line);
    add(line);
    schedule(session_id);
  }

  return {
    push: (turn) => enter(turn, (line) => line.push(turn)),
    pushFirst: (turn) => enter(turn, (line) => line.unshift(turn)),
    remove(turn) {
      const line = waiting.get(turn.file.session_id);
      const index = line?.indexOf(turn) ?? -1;
      if (line === undefined || index === -1) return false;
      line.splice(index, 1);
      if (line.length === 0) waiting.delete(turn.file.session_id);
      return true;
    },
    waiting: (sessionId) => waiting.get(sessionId) ?? [],
    position(turn) {
      if (hasEnded(turn)) return 0;
      const { session_id } = turn.file;
      const index = waiting.get(session_id)?.findIndex((other) => other === turn) ?? -1;
      if (index === -1) return 0;
      return index + (runningIn(session_id) === undefined ? 0 : 1);
    },
    waitingCount: () => [...waiting.values()].reduce((sum, line) => sum + line.length, 0),
    wouldWait: (id) =>
      (id !== undefined && (runningIn(id) !== undefined || waiting.has(id))) || takenPlaces() >= maxTurns,
    runningCount: () => running.size,
    running: runningIn,
    isBusy: (sessionId) => runningIn(sessionId) !== undefined || waiting.has(sessionId),
    async drain() {
      isDraining = true;
      places.clear();
      await places.onIdle();
    },
  };
}
