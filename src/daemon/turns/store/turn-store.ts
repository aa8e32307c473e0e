import { constants } from "node:fs";
import { mkdir, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LoggedEvent, type TurnEndedData } from "../../../protocol/index.ts";
import { truncateToValidPrefix, readWholeLine } from "../../event-log/truncate-to-valid-prefix.ts";
import { createTail, type WritableTail } from "../../event-log/tail.ts";
import { syncDirectory } from "../../storage/atomic-file.ts";
import { restrictToOwner } from "../../storage/restrict-to-owner.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { createTurn, type Turn, type TurnOptions } from "../lifecycle/turn.ts";
import {
  assertMayGoOn,
  assertNeverAdmitted,
  DamagedTurnError,
  findRequestId,
  listTurnFiles,
  requestFileName,
} from "./turn-directory.ts";
import { readTurnFile, writeTurnFile, type TurnFile } from "../lifecycle/turn-file.ts";

/** The turns of one state directory, by every key they are asked for with. */
export interface TurnStore {
  get(turnId: string): Turn | undefined;
  findRequest(requestId: string): Turn | undefined;
  /** The turn of a request that is on the disk and cannot be read: it may have run, and is not run again (law 10). */
  findUnreadable(requestId: string): UnreadableTurn | undefined;
  getUnreadable(turnId: string): UnreadableTurn | undefined;
  listUnreadable(): readonly UnreadableTurn[];
  /**
   * Why a request that is not known may have run all the same, and what a person can do: there are turns of which not even the
   * request can be read. Undefined where there are none.
   */
  lostRequests(): string | undefined;
  /** Oldest first. */
  ofSession(sessionId: string): readonly Turn[];
  /** Newest first. */
  list(): Turn[];
  /** The place in line of the next turn; grows across restarts too. */
  nextOrder(): number;
  /** Durable when it resolves: the turn is admitted then (law 10). */
  add(file: TurnFile, files: readonly NewFile[]): Promise<Turn>;
  forgetSession(sessionId: string): void;
  /** Resolves when the session gets another turn or is removed, or when the signal aborts. */
  grown(sessionId: string, signal: AbortSignal): Promise<void>;
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

/** What every turn is made with. */
type Lifecycle = Pick<TurnOptions, "steerWaitMs" | "onUnsaved">;

export interface TurnStoreOptions extends Lifecycle {
  readonly sessions: SessionStore;
  /** Called for a turn that cannot be read: its files are left alone. */
  readonly onUnreadable: (path: string, error: unknown) => void;
  /** Called for the log of an unfinished turn whose end was not whole: it is written again from there on. */
  readonly onCut: (path: string, cutBytes: number) => void;
}

/** Reads every turn there is. Directories without `turn.json` were never admitted and are removed. */
export async function openTurnStore({
  sessions,
  onUnreadable,
  onCut,
  ...lifecycle
}: TurnStoreOptions): Promise<TurnStore> {
  const turns = new Map<string, Turn>();
  const requests = new Map<string, Turn>();
  const bySession = new Map<string, Turn[]>();
  const growth = new Map<string, WritableTail>();
  let lastOrder = 0;

  function remember(turn: Turn): void {
    const { turn_id, request_id, session_id, order } = turn.file;
    turns.set(turn_id, turn);
    requests.set(request_id, turn);
    const siblings = bySession.get(session_id) ?? [];
    siblings.push(turn);
    bySession.set(session_id, siblings);
    lastOrder = Math.max(lastOrder, order);
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
    try {
      // What the next start would run goes first.
      await rm(join(directory, "turn.json"), { force: true });
    } catch (error) {
      // Law 10: a repeat would be a second turn.
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

  const found: Turn[] = [];
  for (const { session_id: sessionId } of sessions.list()) {
    const base = sessions.paths(sessionId).turns;
    const names = await listTurns(base, (path, error) => {
      unlisted.add(sessionId);
      onUnreadable(path, error);
    });
    for (const name of names) {
      try {
        await restrictToOwner(join(base, name));
        const turn = await loadTurn(join(base, name), { onCut, ...lifecycle });
        if (turn === undefined) await rm(join(base, name), { recursive: true, force: true });
        else if (turn.file.turn_id !== name || turn.file.session_id !== sessionId) {
          throw new DamagedTurnError(`its turn.json is that of turn ${turn.file.turn_id}`);
        } else found.push(turn);
      } catch (error) {
        await setApart(sessionId, name, error);
      }
    }
  }
  for (const sessionId of sessions.unreadable()) {
    // The session has been reported.
    for (const name of await listTurns(sessions.paths(sessionId).turns, () => unlisted.add(sessionId))) {
      await setApart(sessionId, name, new Error(`session ${sessionId} cannot be read`));
    }
  }
  for (const turn of found.toSorted((a, b) => a.file.order - b.file.order)) remember(turn);

  return {
    get: (turnId) => turns.get(turnId),
    findRequest: (requestId) => requests.get(requestId),
    findUnreadable: (requestId) => listUnreadable().find(({ request_id }) => request_id === requestId),
    getUnreadable: (turnId) => unreadable.get(turnId),
    listUnreadable,
    lostRequests,
    ofSession: (sessionId) => bySession.get(sessionId) ?? [],
    list: () => [...turns.values()].toReversed(),
    nextOrder: () => ++lastOrder,
    async add(file, files) {
      const base = sessions.paths(file.session_id).turns;
      const directory = join(base, file.turn_id);
      await mkdir(directory, { mode: 0o700 });
      try {
        for (const { name, content } of files) await writeDurable(join(directory, name), content);
        for (const name of ["events.jsonl", requestFileName(file.request_id)]) {
          await writeFile(join(directory, name), "", { mode: 0o600 });
        }
        await writeTurnFile(directory, file);
        await syncDirectory(base);
      } catch (error) {
        await takeBack(file, directory);
        throw error;
      }
      const turn = createTurn({ file, directory, tail: createTail(0, 0), ...lifecycle });
      remember(turn);
      growth.get(file.session_id)?.advance(0, file.order);
      return turn;
    },
    forgetSession(sessionId) {
      for (const turn of bySession.get(sessionId) ?? []) {
        turns.delete(turn.file.turn_id);
        requests.delete(turn.file.request_id);
      }
      for (const turn of listUnreadable()) if (turn.session_id === sessionId) unreadable.delete(turn.turn_id);
      bySession.delete(sessionId);
      unlisted.delete(sessionId);
      growth.get(sessionId)?.end();
      growth.delete(sessionId);
    },
    grown(sessionId, signal) {
      const tail = growth.get(sessionId) ?? createTail(0, 0);
      growth.set(sessionId, tail);
      return tail.changed(signal);
    },
  };
}

/** The last event of a log, when it is the end of the turn. */
export async function readEnd(directory: string): Promise<{ data: TurnEndedData; at: string } | undefined> {
  const line = await readLastLine(join(directory, "events.jsonl"));
  return line === undefined ? undefined : toEnd(JSON.parse(line));
}

function toEnd(line: unknown): Awaited<ReturnType<typeof readEnd>> {
  if (line === undefined) return undefined;
  const event = LoggedEvent.parse(line);
  return event.type === "turn.ended" ? { data: event.data, at: event.at } : undefined;
}

/** The session is listed all the same: what is there of it is served. */
async function listTurns(base: string, onUnreadable: TurnStoreOptions["onUnreadable"]): Promise<string[]> {
  try {
    return await readdir(base);
  } catch (error) {
    onUnreadable(base, error);
    return [];
  }
}

async function loadTurn(
  directory: string,
  { onCut, ...lifecycle }: Pick<TurnStoreOptions, "onCut"> & Lifecycle,
): Promise<Turn | undefined> {
  const names = await listTurnFiles(directory);
  const file = await readTurnFile(directory);
  if (file === undefined) {
    await assertNeverAdmitted(directory, names);
    return undefined;
  }
  const path = join(directory, "events.jsonl");
  const last = await readLastLine(path);
  let end = last === undefined ? undefined : toEnd(readWholeLine(last));
  if (end === undefined) {
    if (file.replay === undefined) await assertMayGoOn(directory, names);
    const log = await truncateToValidPrefix(path);
    if (log.cutBytes > 0) onCut(path, log.cutBytes);
    end = toEnd(log.last);
    const tail = createTail(log.sizeBytes, log.lines);
    if (end === undefined) return createTurn({ file, directory, tail, ...lifecycle });
  }
  const { size } = await stat(path);
  const tail = createTail(size, end.data.counts.events);
  tail.end();
  return createTurn({ file, directory, tail, end: { status: end.data.status, at: end.at }, ...lifecycle });
}

const LAST_CHUNK_BYTES = 65_536;

/** The last whole line of a file; undefined when it has none or ends in the middle of one. */
async function readLastLine(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    let tail = Buffer.alloc(0);
    while (tail.length < size) {
      const length = Math.min(Math.max(LAST_CHUNK_BYTES, tail.length), size - tail.length);
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - tail.length - length);
      tail = Buffer.concat([buffer, tail]);
      if (tail.at(-1) !== 0x0a) return undefined;
      const start = tail.lastIndexOf(0x0a, -2);
      if (start !== -1) return tail.toString("utf8", start + 1, tail.length - 1);
    }
    return tail.length === 0 ? undefined : tail.toString("utf8", 0, tail.length - 1);
  } finally {
    await file.close();
  }
}

async function writeDurable(path: string, content: string | Buffer): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}
