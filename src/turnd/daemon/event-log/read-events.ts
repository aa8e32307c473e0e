import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { findLine, type LineStart } from "./find-line.ts";
import { readLines, type LoggedLine } from "./logged-lines.ts";
import type { FreshLines, LogTail } from "./tail.ts";

export interface ReadOptions {
  /** Lines with a greater seq are read. */
  readonly afterSeq: number;
  /** The tail of a log that is being written; absent for one that is complete. */
  readonly tail?: LogTail;
  /** Wait for more until the tail has ended; otherwise stop after what is there. */
  readonly isFollowing: boolean;
  readonly signal: AbortSignal;
  /** Takes the lines that are written while this reader waits; otherwise the iteration has them. */
  readonly atOnce?: TakeLines | undefined;
}

/**
 * Takes lines in the moment in which they are in the log; their bytes are written over after the call.
 *
 * @returns a promise where no more can be taken before it is kept
 */
export type TakeLines<Line extends LoggedLine = LoggedLine> = (lines: readonly Line[]) => Promise<void> | undefined;

const CHUNK_BYTES = 65_536;

/**
 * Reads a log from a place in it: the one way every reader, live or late, gets its events. Law: log first. A reader who
 * waits at the end can be given the lines that were just written, which are in the file by then; all who wait are given
 * the same batch.
 *
 * Gives batches of whole lines, in order. One chunk of the file, or one longer line, is held at a time, so a slow
 * reader costs a chunk, and other readers nothing. Ends quietly when the signal aborts.
 */
export async function* readEvents(path: string, options: ReadOptions): AsyncGenerator<readonly LoggedLine[]> {
  // A pipe in its place fails the read, and does not hold up its opening.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let [offset, seq] = [0, 0];
  let behind: Promise<void> | undefined;
  function take({ sizeBytes, lines }: FreshLines): boolean {
    offset += sizeBytes;
    seq += lines.length;
    behind = options.atOnce?.(after(options.afterSeq, lines));
    return behind === undefined;
  }
  const watch = options.tail?.watch(options.signal, options.atOnce && take);
  try {
    ({ offset, seq } = await startOf(file, options));
    let rest: Buffer = Buffer.alloc(0);
    while (!options.signal.aborted) {
      // Asked before the read: an end that comes meanwhile is then seen by the next look.
      const isComplete = options.tail === undefined || options.tail.isEnded();
      const limit = options.tail?.size() ?? Infinity;
      // A chunk grows with the line it belongs to, so that a long line is not copied once for each small chunk.
      const chunk = await readChunk(file, offset, Math.min(Math.max(CHUNK_BYTES, rest.length), limit - offset));
      if (chunk.length === 0) {
        if (isComplete || !options.isFollowing) return;
        // While it waits it is at the end, so what it is given then comes next.
        if (options.tail?.size() === offset && !options.tail.isEnded()) await watch?.changed();
        await behind;
        behind = undefined;
        continue;
      }
      offset += chunk.length;
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const read = readLines(bytes, seq);
      rest = read.rest;
      seq += read.lines.length;
      const lines = after(options.afterSeq, read.lines);
      if (lines.length > 0) yield lines;
    }
  } finally {
    watch?.close();
    await file.close();
  }
}

/** Where to read from, and the `seq` before it. */
async function startOf(file: FileHandle, { afterSeq, tail }: ReadOptions): Promise<LineStart> {
  if (afterSeq === 0) return { offset: 0, seq: 0 };
  const sizeBytes = tail?.size() ?? (await file.stat()).size;
  const { offset, seq } = await findLine(file, afterSeq + 1, sizeBytes);
  return { offset, seq: seq - 1 };
}

async function readChunk(file: FileHandle, offset: number, wanted: number): Promise<Buffer> {
  if (wanted <= 0) return Buffer.alloc(0);
  const buffer = Buffer.allocUnsafe(wanted);
  const { bytesRead } = await file.read(buffer, 0, wanted, offset);
  return buffer.subarray(0, bytesRead);
}

function after(afterSeq: number, lines: readonly LoggedLine[]): readonly LoggedLine[] {
  const [first] = lines;
  return first === undefined || first.seq > afterSeq ? lines : lines.filter(({ seq }) => seq > afterSeq);
}
