import { mkdir, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LoggedEvent, type TurnEndedData } from "../../protocol/index.ts";
import { createTail, type WritableTail } from "../event-log/tail.ts";
import { syncDirectory } from "../sessions/atomic-file.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import { createTurn, type Turn } from "./turn.ts";
import { readTurnFile, writeTurnFile, type TurnFile } from "./turn-file.ts";

/** The turns of one state directory, by every key they are asked for with. */
export interface TurnStore {
  get(turnId: string): Turn | undefined;
  findRequest(requestId: string): Turn | undefined;
  /** Oldest first. */
  ofSession(sessionId: string): readonly Turn[];
  /** Newest first. */
  list(): Turn[];
  /** The place in line of the next turn; grows across restarts too. */
  nextOrder(): number;
  /** Durable when it resolves: the turn is admitted then (law 10). */
  add(file: TurnFile, files: readonly NewFile[]): Promise<Turn>;
  forgetSession(sessionId: string): void;
  /** Resolves when the session gets another turn or is forgotten, or when the signal aborts. */
  grown(sessionId: string, signal: AbortSignal): Promise<void>;
}

/** What a turn's directory is given besides `turn.json`. */
export interface NewFile {
  readonly name: string;
  readonly content: string | Buffer;
}

export interface TurnStoreOptions {
  readonly sessions: SessionStore;
  /** Told of a turn that cannot be read: it is left alone. */
  readonly onUnreadable: (path: string, error: unknown) => void;
}

/** Reads every turn there is. Directories without `turn.json` were never admitted and are removed. */
export async function openTurnStore({ sessions, onUnreadable }: TurnStoreOptions): Promise<TurnStore> {
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

  const found: Turn[] = [];
  for (const session of sessions.list()) {
    const base = sessions.paths(session.session_id).turns;
    for (const name of await readdir(base)) {
      try {
        const turn = await loadTurn(join(base, name));
        if (turn === undefined) await rm(join(base, name), { recursive: true, force: true });
        else found.push(turn);
      } catch (error) {
        onUnreadable(join(base, name), error);
      }
    }
  }
  for (const turn of found.toSorted((a, b) => a.file.order - b.file.order)) remember(turn);

  return {
    get: (turnId) => turns.get(turnId),
    findRequest: (requestId) => requests.get(requestId),
    ofSession: (sessionId) => bySession.get(sessionId) ?? [],
    list: () => [...turns.values()].toReversed(),
    nextOrder: () => ++lastOrder,
    async add(file, files) {
      const base = sessions.paths(file.session_id).turns;
      const directory = join(base, file.turn_id);
      await mkdir(directory, { mode: 0o700 });
      try {
        for (const { name, content } of files) await writeDurable(join(directory, name), content);
        await writeFile(join(directory, "events.jsonl"), "", { mode: 0o600 });
        await writeTurnFile(directory, file);
      } catch (error) {
        // A full disk stays full while what was refused lies on it; what cannot be removed now, the next start removes.
        await rm(directory, { recursive: true, force: true }).catch(() => undefined);
        throw error;
      }
      await syncDirectory(base);
      const turn = createTurn(file, directory, createTail(0, 0));
      remember(turn);
      growth.get(file.session_id)?.advance(0, file.order);
      return turn;
    },
    forgetSession(sessionId) {
      for (const turn of bySession.get(sessionId) ?? []) {
        turns.delete(turn.file.turn_id);
        requests.delete(turn.file.request_id);
      }
      bySession.delete(sessionId);
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
  if (line === undefined) return undefined;
  const event = LoggedEvent.parse(JSON.parse(line));
  return event.type === "turn.ended" ? { data: event.data, at: event.at } : undefined;
}

async function loadTurn(directory: string): Promise<Turn | undefined> {
  const file = await readTurnFile(directory);
  if (file === undefined) return undefined;
  const end = await readEnd(directory);
  if (end === undefined) return createTurn(file, directory, createTail(...(await measureLog(directory))));
  const { size } = await stat(join(directory, "events.jsonl"));
  const tail = createTail(size, end.data.counts.events);
  tail.end();
  const turn = createTurn(file, directory, tail);
  turn.status = end.data.status;
  turn.endedAt = end.at;
  turn.markFinished();
  return turn;
}

/** Whole lines of an unfinished log: bytes and number. */
async function measureLog(directory: string): Promise<[size: number, lines: number]> {
  let [size, lines, offset] = [0, 0, 0];
  const file = await open(join(directory, "events.jsonl"), "r");
  try {
    const buffer = Buffer.allocUnsafe(262_144);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      if (bytesRead === 0) return [size, lines];
      for (let at = buffer.indexOf(0x0a); at !== -1 && at < bytesRead; at = buffer.indexOf(0x0a, at + 1)) {
        lines += 1;
        size = offset + at + 1;
      }
      offset += bytesRead;
    }
  } finally {
    await file.close();
  }
}

const LAST_CHUNK_BYTES = 65_536;

/** The last whole line of a file; undefined when it has none or ends in the middle of one. */
async function readLastLine(path: string): Promise<string | undefined> {
  const file = await open(path, "r");
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
