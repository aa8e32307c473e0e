import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurnOfLoop } from "node:timers/promises";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { TurnRow } from "../../state-index/rows.ts";
import type { StateIndex, TurnPlace } from "../../state-index/state-index.ts";
import { restrictToOwner } from "../../storage/restrict-to-owner.ts";
import { hasEnded, type Turn } from "../lifecycle/turn.ts";
import { createIndexWrites } from "./index-writes.ts";
import { loadTurn, type LoadOptions } from "./load-turn.ts";
import { DamagedTurnError } from "./turn-directory.ts";
import { keyOfTurn, OPEN, toRow } from "./turn-row.ts";

/** What a request that is to be let in has to do with. */
export interface RequestScope {
  /** Absent: a session of its own. */
  readonly sessionId: string | undefined;
  /** Absent: it has never run. */
  readonly requestId: string | undefined;
}

/** Brings the index in accord with the directories, which are the truth. */
export interface StateCheck {
  /** Resolves when every directory has been compared, with the turns that were found without an end meanwhile. */
  readonly checked: Promise<readonly Turn[]>;
  /** Resolves when it is known which turns there are, though not yet whether each is as the index has it. */
  readonly listed: Promise<void>;
  /**
   * Whether a request can be let in before all is compared (law: at most once): every session has the turns that the
   * index has of it, so the index knows each request that has run, and the request's own session and turn are as it has
   * them.
   *
   * False also when the comparison is over: then nothing has to be asked.
   */
  isAsIndexed(concerned: RequestScope): Promise<boolean>;
  /** Whether that is over: of a small state it is when the store is open. */
  isChecked(): boolean;
  /** Whether what the index has of an ended turn is in accord with its directory. */
  isTrusted(row: TurnRow): boolean;
  /** The same of a session. */
  isSessionTrusted(sessionId: string): boolean;
}

export interface StateCheckParts extends LoadOptions {
  readonly sessions: SessionStore;
  readonly index: StateIndex;
  readonly onUnreadable: (path: string, error: unknown) => void;
  /** Called before everything is read, since the index holds nothing: that takes a while. */
  readonly onIndexing: (reason: string, sessions: number) => void;
  /** Keeps a turn in memory. */
  readonly remember: (turn: Turn) => void;
  /** Reports a turn that cannot be read. */
  readonly setApart: (sessionId: string, turnId: string, error: unknown) => Promise<void>;
  /** Sessions whose turns cannot be listed are added here. */
  readonly unlisted: Set<string>;
}

export interface RunningCheck extends StateCheck {
  /** Resolves when turns without an end are known, and a small state, or one without an index, is compared as a whole. */
  begin(): Promise<void>;
  /** Whether a session has nothing that is to be read again by every start. */
  isSound(sessionId: string): boolean;
  /** Something is left in a session that the next start has to look at. */
  markUnsound(sessionId: string): void;
  /** A turn is added to a session: from now on this turnd changes it, and need not compare it. */
  takeOver(sessionId: string): void;
}

/** A state with so many sessions and turns is compared before turnd serves: it takes some milliseconds. */
const SMALL = 1_000;
/** For so long at once while turnd serves. */
const SLICE_MS = 4;
/** Sessions that are read from the index at once. */
const SESSIONS_AT_ONCE = 500;
/** Turns whose keys are read from the index at once. */
const KEYS_AT_ONCE = 100;
/** Directories that are read at the same time. */
const AT_ONCE = 8;

export function createStateCheck(parts: StateCheckParts): RunningCheck {
  const { sessions, index, onUnreadable, remember, setApart, unlisted, ...lifecycle } = parts;
  const unsound = new Set<string>();
  const compared = new Set<string>();
  const done = Promise.withResolvers<readonly Turn[]>();
  const listed = Promise.withResolvers<void>();
  const writes = createIndexWrites(index);
  let [isDone, hasFailed, isAwaited] = [false, false, false];
  /** Whether each session has the turns that the index has of it. */
  let hasSameTurns = false;

  function hasSameKey(sessionId: string): boolean {
    const row = index.session(sessionId);
    return row !== undefined && row.key !== "" && row.key === sessions.keyOf(sessionId);
  }

  function isTrusted({ session_id: sessionId, turn_id: turnId, key }: TurnRow): boolean {
    if (isDone || compared.has(sessionId)) return true;
    return hasSameKey(sessionId) && key === keyOfTurn(join(sessions.paths(sessionId).turns, turnId));
  }

  const isSessionTrusted = (sessionId: string): boolean => isDone || compared.has(sessionId) || hasSameKey(sessionId);

  /** Whether nothing of a session was changed since the index was written. */
  async function isUnchanged(sessionId: string, pause: () => Promise<void>): Promise<boolean> {
    if (!hasSameKey(sessionId)) return false;
    const base = sessions.paths(sessionId).turns;
    // An index that has lost a row would have the keys of all others.
    if ((await countEntries(base)) !== index.countTurns(sessionId)) return false;
    for (let after: TurnPlace = { place: -1, turnId: "" }; ;) {
      const turns = index.keysOfTurns(sessionId, after, KEYS_AT_ONCE);
      const isSame = turns.every((turn) => turn.status !== OPEN && turn.key === keyOfTurn(join(base, turn.turnId)));
      const last = turns.at(-1);
      if (!isSame || last === undefined || turns.length < KEYS_AT_ONCE) return isSame;
      after = last;
      await pause();
    }
  }

  async function listTurns(sessionId: string, isReported: boolean): Promise<string[]> {
    const path = sessions.paths(sessionId).turns;
    try {
      return await readdir(path);
    } catch (error) {
      unlisted.add(sessionId);
      if (isReported) onUnreadable(path, error);
      return [];
    }
  }

  /** Reads of a session what is not as the index has it. @returns its turns without an end */
  async function readAgain(sessionId: string): Promise<Turn[]> {
    compared.add(sessionId);
    if (!(await sessions.read(sessionId))) {
      if (!sessions.isUnreadable(sessionId)) return [];
      // The session has been reported.
      for (const turnId of await listTurns(sessionId, false)) {
        await setApart(sessionId, turnId, new Error(`session ${sessionId} cannot be read`));
      }
      return [];
    }
    const base = sessions.paths(sessionId).turns;
    const known = index.turnKeys(sessionId);
    // The session is listed all the same: what is there of it is served.
    const names = await listTurns(sessionId, true);
    const present = new Set(names);
    for (const turnId of known.keys()) if (!present.has(turnId)) index.forgetTurn(turnId);
    const changed = names.filter((name) => {
      const { status = OPEN, key = "" } = known.get(name) ?? {};
      return status === OPEN || key !== keyOfTurn(join(base, name));
    });
    const unfinished: Turn[] = [];
    const latest = { at: "" };
    await eachOf(changed, async (name) => {
      const turn = await readTurn(sessionId, name);
      if (turn !== undefined && !hasEnded(turn)) unfinished.push(turn);
      if (turn?.endedAt !== undefined && turn.endedAt > latest.at) latest.at = turn.endedAt;
    });
    if (unlisted.has(sessionId)) unsound.add(sessionId);
    const activity = { at: latest.at, key: unsound.has(sessionId) ? "" : sessions.keyOf(sessionId) };
    writes.add(() => index.touchSession(sessionId, activity));
    return unfinished;
  }

  async function readTurn(sessionId: string, name: string): Promise<Turn | undefined> {
    const directory = join(sessions.paths(sessionId).turns, name);
    try {
      await restrictToOwner(directory);
      const turn = await loadTurn(directory, lifecycle);
      if (turn === undefined) {
        index.forgetTurn(name);
        await rm(directory, { recursive: true, force: true });
        return undefined;
      }
      if (turn.file.turn_id !== name || turn.file.session_id !== sessionId) {
        throw new DamagedTurnError(`its turn.json is that of turn ${turn.file.turn_id}`);
      }
      const row = toRow(turn, { isFinal: hasEnded(turn) });
      writes.add(() => index.putTurn(row));
      if (!hasEnded(turn)) remember(turn);
      return turn;
    } catch (error) {
      index.forgetTurn(name);
      unsound.add(sessionId);
      await setApart(sessionId, name, error);
      return undefined;
    }
  }

  /** Compares the turns that there are with those of the index, without looking at any; forgets sessions that are gone. */
  async function compareLists(names: readonly string[], pause: () => Promise<void>): Promise<boolean> {
    const unknown = new Set(names);
    let isSame = true;
    for (let after = ""; ;) {
      const known = index.countedSessions(after, SESSIONS_AT_ONCE);
      for (const { session_id: id, key, turns } of known) {
        if (!unknown.delete(id)) index.forgetSession(id);
        else if (!compared.has(id)) isSame &&= sessions.hasTurnsOf(id, key, turns);
        await pause();
      }
      const last = known.at(-1);
      if (last === undefined) return isSame && unknown.size === 0;
      after = last.session_id;
    }
  }

  async function compareAll(isBesideServing: boolean): Promise<Turn[]> {
    const names = await sessions.listNames();
    if (sessions.fault() !== undefined) {
      isDone = true;
      return [];
    }
    if (index.outdated !== undefined && names.length > 0) parts.onIndexing(index.outdated, names.length);
    const unfinished: Turn[] = [];
    let sliceEnd = performance.now() + SLICE_MS;
    const pause = async (): Promise<void> => {
      if (!isBesideServing || performance.now() < sliceEnd) return;
      await nextTurnOfLoop();
      sliceEnd = performance.now() + SLICE_MS;
    };
    // A client that waits has to wait for all of it.
    hasSameTurns = await compareLists(names, async () => (isAwaited ? undefined : pause()));
    listed.resolve();
    const toRead: string[] = [];
    for (const name of names) {
      if (compared.has(name)) continue;
      const isSame = await isUnchanged(name, pause);
      // One that was taken over meanwhile had been compared before, and is changed by this turnd.
      if (isSame) compared.add(name);
      else if (!compared.has(name)) toRead.push(name);
      await pause();
    }
    await eachOf(toRead, async (name) => void unfinished.push(...(await readAgain(name))));
    writes.finish();
    if (index.outdated !== undefined) index.complete();
    isDone = true;
    compared.clear();
    return unfinished;
  }

  return {
    checked: done.promise,
    listed: listed.promise,
    async isAsIndexed({ sessionId, requestId }) {
      isAwaited = true;
      await listed.promise;
      if (isDone || hasFailed || !hasSameTurns) return false;
      const turn = requestId === undefined ? undefined : index.turnOfRequest(requestId);
      if (turn !== undefined && !isTrusted(turn)) return false;
      if (sessionId === undefined || compared.has(sessionId)) return true;
      const isSame = index.session(sessionId) === undefined || (await isUnchanged(sessionId, async () => undefined));
      if (isSame) compared.add(sessionId);
      return isSame;
    },
    takeOver(sessionId) {
      if (!isDone) compared.add(sessionId);
    },
    isSound: (sessionId) => !unsound.has(sessionId),
    isChecked: () => isDone,
    markUnsound: (sessionId) => void unsound.add(sessionId),
    isTrusted,
    isSessionTrusted,
    async begin() {
      const { sessions: sessionCount, turns } = index.count();
      const isLarge = index.outdated === undefined && sessionCount + turns > SMALL;
      for (const sessionId of new Set(index.openTurns().map(({ session_id }) => session_id))) {
        if (sessions.fault() === undefined) await readAgain(sessionId);
      }
      if (!isLarge) {
        await compareAll(false);
        listed.resolve();
        return done.resolve([]);
      }
      compareAll(true)
        .catch((error: unknown) => {
          hasFailed = true;
          throw error;
        })
        .then(done.resolve, done.reject)
        .finally(listed.resolve);
      // Whoever waits for it is told; where no one does yet, it is no stray rejection.
      done.promise.catch(() => undefined);
    },
  };
}

/** @returns -1 where they cannot be listed: that is reported when they are read */
async function countEntries(directory: string): Promise<number> {
  return readdir(directory).then(
    (names) => names.length,
    () => -1,
  );
}

/** Does some work for each item, a few at the same time. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}
