import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { LoggedEvent, type TurnEndedData } from "../../../protocol/index.ts";
import { truncateToValidPrefix, readWholeLine } from "../../event-log/truncate-to-valid-prefix.ts";
import { createTail } from "../../event-log/tail.ts";
import { createTurn, type Turn, type TurnOptions } from "../lifecycle/turn.ts";
import { readTurnFile } from "../lifecycle/turn-file.ts";
import { assertMayGoOn, assertNeverAdmitted, listTurnFiles } from "./turn-directory.ts";

/** What every turn is made with. */
export type Lifecycle = Pick<TurnOptions, "steerWaitMs" | "onUnsaved">;

export interface LoadOptions extends Lifecycle {
  /** Called for the log of an unfinished turn whose end was not whole: it is written again from there on. */
  readonly onCut: (path: string, cutBytes: number) => void;
}

/**
 * Reads a turn from its directory; undefined where it was never admitted.
 *
 * @throws {DamagedTurnError} or the system's error where it cannot be read
 */
export async function loadTurn(directory: string, { onCut, ...lifecycle }: LoadOptions): Promise<Turn | undefined> {
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
