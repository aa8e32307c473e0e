import { open, type FileHandle } from "node:fs/promises";
import { z } from "zod";

/** What a log holds once it has been cut to what is whole. */
export interface WholeLog {
  readonly sizeBytes: number;
  readonly lines: number;
  readonly last: WholeLine | undefined;
  /** Bytes that were cut off; a line that the daemon was writing when it ended is among them. */
  readonly cutBytes: number;
}

/** What every line shows of being one; its data is not looked at. */
const Line = z.looseObject({ seq: z.int(), type: z.string() });
export type WholeLine = z.infer<typeof Line>;

/** Reads a text that can be the line of a log; undefined for any other. */
export function readWholeLine(text: string): WholeLine | undefined {
  try {
    return Line.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // No JSON: torn, or a block that never came to the disk.
  }
}

const CHUNK_BYTES = 262_144;

/**
 * Cuts an unfinished log behind its last line of which all before are whole.
 *
 * After a power cut the blocks of a file need not be there in the order in which they were written: zeros may stand where
 * a line was, and whole lines behind them. What is cut is logged again, from the CLI's own output.
 */
export async function truncateToValidPrefix(path: string): Promise<WholeLog> {
  const file = await open(path, "r+");
  try {
    let [sizeBytes, lines] = [0, 0];
    let last: WholeLine | undefined;
    for await (const line of readLines(file)) {
      const read = readWholeLine(line.toString("utf8"));
      if (read?.seq !== lines + 1) break;
      lines += 1;
      sizeBytes += line.length + 1;
      last = read;
    }
    const { size } = await file.stat();
    if (size > sizeBytes) await file.truncate(sizeBytes);
    return { sizeBytes, lines, last, cutBytes: size - sizeBytes };
  } finally {
    await file.close();
  }
}

/** Lines that end, without their newlines; a chunk grows with the line it belongs to. */
async function* readLines(file: FileHandle): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for (let offset = 0; ;) {
    const length = Math.max(CHUNK_BYTES, rest.length);
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
    if (bytesRead === 0) return;
    offset += bytesRead;
    const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    let start = 0;
    for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
      yield bytes.subarray(start, end);
      start = end + 1;
    }
    rest = bytes.subarray(start);
  }
}
