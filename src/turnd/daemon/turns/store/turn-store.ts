import { rm } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../../../../kit/defined.ts";
import { createTail } from "../../event-log/tail.ts";
import type { TurnRow } from "../../state-index/rows.ts";
import type { StateIndex, TurnPage } from "../../state-index/state-index.ts";
import { allDone } from "../../storage/all-done.ts";
import { putInPlace, syncDirectory, writeEmpty, writeSynced } from "../../storage/atomic-file.ts";
import { makeNewDirectory } from "../../storage/directories.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { createTurn, type ListedTurn, type Turn } from "../lifecycle/turn.ts";
import { draftTurnFile, type TurnFile } from "../lifecycle/turn-file.ts";
import { createGrowth } from "./growth.ts";
import type { LoadOptions } from "./load-turn.ts";
import { createStateCheck, type StateCheck } from "./state-check.ts";
import { findRequestId, requestFileName } from "./turn-directory.ts";
import { fromRow, isDone, listedFromRow, OPEN, toRow } from "./turn-row.ts";
import { newestFirst, readPage, type FoundPage } from "./turn-pages.ts";
import { readSecretsOf } from "./read-turn-secrets.ts";

/**
 * The turns of one state directory, by every key they are asked for with.
 *
 * Those that have not ended are in memory; of the others the index has what lists show, and each call makes them anew.
 */
export interface TurnStore extends StateCheck {
  get(turnId: string): Turn | undefined;
  findRequest(requestId: string): Turn | undefined;
  /**
   * The turn of a request that is on the disk and cannot be read: it may have run, and is not run again. Law: at most
   * once.
   */
  findUnreadable(requestId: string): UnreadableTurn | undefined;
  getUnreadable(turnId: string): UnreadableTurn | undefined;
  listUnreadable(): readonly UnreadableTurn[];
  /**
   * Why a request that is not known may have run all the same, and what a person can do: there are turns of which not even the
   * request can be read. Undefined where there are none.
   */
  lostRequests(): string | undefined;
  /** Those that are in memory: turns that have not ended, or are not done with yet. Newest first. */
  live(): readonly Turn[];
  /** The same of a session, oldest first. */
  liveOfSession(sessionId: string): readonly Turn[];
  /** Newest first, with the place that the next page goes on behind; none behind the last. */
  page(page: TurnPage): FoundPage;
  /** The next turn of a session in the order of admission. @param after - the order of the one before */
  nextOfSession(sessionId: string, after?: number): Turn | undefined;
  /** Directories of a session's turns that were admitted before one, oldest first; of the last thousand. */
  earlierDirectories(sessionId: string, order: number): readonly string[];
  /** Ids of a session's newest turns, oldest first. */
  turnIds(sessionId: string, newest: number): readonly string[];
  countOfSession(sessionId: string): number;
  /** What is known of the requests of a session, of turns that cannot be read too. */
  requestsOf(sessionId: string): UnreadableTurn[];
  /** What the requests of a session's turns brought with them that must not be shown. */
  secretsOf(sessionId: string): readonly string[];
  /** The place in line of the next turn; grows across restarts too. */
  nextOrder(): number;
  /** Durable when it resolves: the turn is admitted then. Law: at most once. */
  add(file: TurnFile, files: readonly NewFile[]): Promise<Turn>;
  /** Lets go of a turn with which all is done. What the disk does not have stays in memory. */
  conclude(turn: Turn): void;
  forgetSession(sessionId: string): void;
  /** Resolves when the session gets another turn or is removed, or when the signal aborts. */
  grown(sessionId: string, signal: AbortSignal): Promise<void>;
  /** Whether a client follows what comes in a session. */
  isFollowed(sessionId: string): boolean;
}

/** All that is known of a turn that cannot be read. */
export interface UnreadableTurn extends Pick<TurnFile, "turn_id" | "session_id"> {
  /** Absent where not even this could be found in its files. */
  readonly request_id: string | undefined;
}

/** Why it is not known what became of a request. */
export function describeUnreadable({ request_id, turn_id, session_id }: UnreadableTurn): string {
  return `request ${request_id} was admitted as turn ${turn_id} of session ${session_id}, which cannot be read any more; it is not run again, and turnd's log says why`;
}

/** What a turn's directory is given besides `turn.json`. */
export interface NewFile {
  readonly name: string;
  readonly content: string | Buffer;
}

export interface TurnStoreOptions extends LoadOptions {
  readonly sessions: SessionStore;
  readonly index: StateIndex;
  /** Called for a turn that cannot be read: its files are left alone. */
  readonly onUnreadable: (path: string, error: unknown) => void;
  /** Called before everything is read to make the index anew. */
  readonly onIndexing: (reason: string, sessions: number) => void;
}

const MAX_EARLIER = 1_000;

/** Opens the turns: reads those that have not ended, and what is not as the index has it. */
export async function openTurnStore(options: TurnStoreOptions): Promise<TurnStore> {
  const { sessions, index, onUnreadable, onCut: _, ...lifecycle } = options;
  const live = new Map<string, Turn>();
  const liveRequests = new Map<string, Turn>();
  const growth = createGrowth();
  let lastOrder = 0;

  function remember(turn: Turn): void {
    live.set(turn.file.turn_id, turn);
    liveRequests.set(turn.file.request_id, turn);
  }
  function forget({ file }: Turn): void {
    live.delete(file.turn_id);
    liveRequests.delete(file.request_id);
  }

  const unreadable = new Map<string, UnreadableTurn>();
  async function setApart(sessionId: string, turnId: string, error: unknown): Promise<void> {
    const directory = join(sessions.paths(sessionId).turns, turnId);
    onUnreadable(directory, error);
    const requestId = await findRequestId(directory);
    unreadable.set(turnId, { request_id: requestId, turn_id: turnId, session_id: sessionId });
  }
  /** A full disk stays full while what was refused is on it. */
  async function takeBack({ request_id, session_id, turn_id }: TurnFile, directory: string): Promise<void> {
    index.forgetTurn(turn_id);
    check.markUnsound(session_id);
    try {
      // What the next start would run goes first.
      await rm(join(directory, "turn.json"), { force: true });
    } catch (error) {
      // Law: at most once. A repeat would be a second turn.
      unreadable.set(turn_id, { request_id, turn_id, session_id });
      onUnreadable(directory, error);
      return;
    }
    // Without it the next start removes what is left.
    await rm(directory, { recursive: true, force: true }).catch(() => undefined);
  }

  const listUnreadable = (): UnreadableTurn[] => [...unreadable.values()];

  /** Sessions whose turns cannot even be listed. */
  const unlisted = new Set<string>();
  function lostRequests(): string | undefined {
    const lost = listUnreadable().filter(({ request_id }) => request_id === undefined);
    const [sessionId] = [...lost.map(({ session_id }) => session_id), ...unlisted];
    if (sessionId === undefined) return undefined;
    return `session ${sessionId} has turns whose requests cannot be read; turnd's log names them, and deleting that session gives its requests up`;
  }

  const check = createStateCheck({ ...options, remember, setApart, unlisted });

  function toTurn(row: TurnRow | undefined): Turn | undefined {
    if (row === undefined) return undefined;
    const known = live.get(row.turn_id);
    if (known !== undefined) return known;
    if (row.status === OPEN || !check.isTrusted(row)) return undefined;
    return fromRow(row, sessions.paths(row.session_id).turns, lifecycle);
  }
  function toListed(row: TurnRow): ListedTurn | undefined {
    const known = live.get(row.turn_id);
    if (known !== undefined) return known;
    return row.status === OPEN || !check.isTrusted(row) ? undefined : listedFromRow(row);
  }

  await check.begin();

  return {
    checked: check.checked,
    isChecked: check.isChecked,
    isTrusted: check.isTrusted,
    isSessionTrusted: check.isSessionTrusted,
    listed: check.listed,
    isAsIndexed: check.isAsIndexed,
    get: (turnId) => live.get(turnId) ?? toTurn(index.turn(turnId)),
    findRequest: (requestId) => liveRequests.get(requestId) ?? toTurn(index.turnOfRequest(requestId)),
    findUnreadable: (requestId) => listUnreadable().find(({ request_id }) => request_id === requestId),
    getUnreadable(turnId) {
      const known = unreadable.get(turnId);
      if (known !== undefined || live.has(turnId)) return known;
      // Changed since an earlier daemon saw it, and not read again yet.
      return index.turn(turnId);
    },
    listUnreadable,
    lostRequests,
    live: () => newestFirst(live.values()),
    liveOfSession: (id) =>
      newestFirst(live.values())
        .filter(({ file }) => file.session_id === id)
        .toReversed(),
    page: (page) => readPage({ index, live: () => live.values(), toListed }, page),
    nextOfSession(sessionId, after) {
      const rows = index.turnsOfSession(sessionId, { limit: 1, ...defined({ after }) });
      return toTurn(rows[0]);
    },
    earlierDirectories: (sessionId, order) =>
      index
        .pageTurns({ sessionId, before: { place: order, turnId: "" }, limit: MAX_EARLIER })
        .map(({ turn_id }) => join(sessions.paths(sessionId).turns, turn_id))
        .toReversed(),
    turnIds: index.turnIds,
    countOfSession: index.countTurns,
    requestsOf: (sessionId) => [
      ...index.turnsOfSession(sessionId),
      ...listUnreadable().filter(({ session_id }) => session_id === sessionId),
    ],
    secretsOf: (sessionId) =>
      index.turnsWithSecrets(sessionId).flatMap((id) => readSecretsOf(join(sessions.paths(sessionId).turns, id))),
    nextOrder: () => (lastOrder = Math.max(lastOrder, index.lastPlace()) + 1),
    async add(file, files) {
      const base = sessions.paths(file.session_id).turns;
      const directory = join(base, file.turn_id);
      const turn = createTurn({ file, directory, tail: createTail(0, 0), ...lifecycle });
      check.takeOver(file.session_id);
      // Before anything is on the disk: the next start looks for it there.
      index.putTurn(toRow(turn, { isFinal: false }));
      try {
        await makeNewDirectory(directory, 0o700);
        for (const name of ["events.jsonl", requestFileName(file.request_id)]) await writeEmpty(join(directory, name));
        const written = await allDone(
          draftTurnFile(directory, file),
          ...files.map(({ name, content }) => writeSynced(join(directory, name), content)),
        );
        // Last of all, since it admits the turn (law: at most once): what the turn needs is there with it.
        await putInPlace(written);
        await allDone(syncDirectory(directory), syncDirectory(base));
      } catch (error) {
        await takeBack(file, directory);
        throw error;
      }
      remember(turn);
      growth.advance(file.session_id);
      return turn;
    },
    conclude(turn) {
      const { turn_id, session_id } = turn.file;
      if (!isDone(turn) || live.get(turn_id) !== turn) return;
      index.atOnce(() => {
        index.putTurn(toRow(turn, { isFinal: true }));
        const at = turn.endedAt ?? turn.file.created_at;
        index.touchSession(session_id, { at, key: check.isSound(session_id) ? sessions.keyOf(session_id) : "" });
      });
      forget(turn);
    },
    forgetSession(sessionId) {
      for (const turn of live.values()) if (turn.file.session_id === sessionId) forget(turn);
      for (const turn of listUnreadable()) if (turn.session_id === sessionId) unreadable.delete(turn.turn_id);
      index.forgetSession(sessionId);
      unlisted.delete(sessionId);
      growth.end(sessionId);
    },
    grown: growth.wait,
    isFollowed: growth.isAwaited,
  };
}
