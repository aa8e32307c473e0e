import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { LogTail } from "./tail.ts";

/** One line of a log, without its newline; `seq` is its place, which is also its 1-based line number. */
export interface LoggedLine {
  readonly seq: number;
  readonly type: string;
  readonly bytes: Buffer;
  /** What a client comes back with, where that is not `seq`. */
  readonly id?: string;
}

export interface ReadOptions {
  /** Lines with a greater seq are read. */
  readonly afterSeq: number;
  /** The tail of a log that is being written; absent for one that is complete. */
  readonly tail?: LogTail;
  /** Wait for more until the tail has ended; otherwise stop after what is there. */
  readonly isFollowing: boolean;
  readonly signal: AbortSignal;
}

const CHUNK_BYTES = 65_536;
const NEWLINE = 0x0a;

/**
 * Reads a log from a place in it: the one way every reader, live or late, gets its events (law 2).
 *
 * Shape: batches of whole lines, in order; one chunk of the file, or one longer line, is held at a time, so a slow
 * reader costs a chunk, and other readers nothing. Ends quietly when the signal aborts.
 */
export async function* readEvents(path: string, options: ReadOptions): AsyncGenerator<readonly LoggedLine[]> {
  // A pipe in its place fails the read, and does not hold up its opening.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    let [offset, seq] = [0, 0];
    let rest: Buffer = Buffer.alloc(0);
    while (!options.signal.aborted) {
      // Asked before the read: an end that comes meanwhile is then seen by the next look.
      const isComplete = options.tail === undefined || options.tail.isEnded();
      const limit = options.tail?.size() ?? Infinity;
      // A chunk grows with the line it belongs to, so that a long line is not copied once for each small chunk.
      const chunk = await readChunk(file, offset, Math.min(Math.max(CHUNK_BYTES, rest.length), limit - offset));
      if (chunk.length === 0) {
        if (isComplete || !options.isFollowing) return;
        if (options.tail !== undefined && options.tail.size() === offset && !options.tail.isEnded()) {
          await options.tail.changed(options.signal);
        }
        continue;
      }
      offset += chunk.length;
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const lines: LoggedLine[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        seq += 1;
        if (seq > options.afterSeq) lines.push(toLine(seq, bytes.subarray(start, end)));
        start = end + 1;
      }
      rest = bytes.subarray(start);
      if (lines.length > 0) yield lines;
    }
  } finally {
    await file.close();
  }
}

async function readChunk(file: FileHandle, offset: number, wanted: number): Promise<Buffer> {
  if (wanted <= 0) return Buffer.alloc(0);
  const buffer = Buffer.allocUnsafe(wanted);
  const { bytesRead } = await file.read(buffer, 0, wanted, offset);
  return buffer.subarray(0, bytesRead);
}

function toLine(seq: number, bytes: Buffer): LoggedLine {
  // The envelope comes first and its other values hold no quotes, so the type is found without parsing the data.
  const type = /"type":"([a-z._]+)"/.exec(bytes.toString("latin1", 0, 512))?.[1];
  if (type === undefined) throw new Error(`line ${seq} of the event log has no type`);
  return { seq, type, bytes };
}
