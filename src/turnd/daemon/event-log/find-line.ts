import type { FileHandle } from "node:fs/promises";

/** Where a line of a log begins, and its number, which is its `seq`. */
export interface LineStart {
  readonly offset: number;
  readonly seq: number;
}

/** A stretch that is read through as it is. */
const SHORT_BYTES = 65_536;
const PROBE_BYTES = 4_096;
const MAX_PROBE_BYTES = 1_048_576;
/** Longer than what stands before the end of a `seq`. */
const HEAD_BYTES = 32;
/** No line of a log is as short. */
const MIN_LINE_BYTES = 32;
const NEWLINE = 0x0a;

/**
 * Finds a line, or one not far before it, without reading what comes before: by halves, since each line begins with its
 * `seq`.
 *
 * A line of JSON has no newline in it, whatever was printed or redacted. Where a line shows no number that can be right, the
 * last place that did is given, and whoever reads on from there counts lines.
 *
 * @param sizeBytes - whole lines; what comes behind may be torn
 */
export async function findLine(file: FileHandle, seq: number, sizeBytes: number): Promise<LineStart> {
  let low: LineStart = { offset: 0, seq: 1 };
  // No line from here on has a `seq` as low.
  let high = sizeBytes;
  while (seq > low.seq && high - low.offset > SHORT_BYTES) {
    const middle = low.offset + Math.floor((high - low.offset) / 2);
    const next = await nextLine(file, middle, high, sizeBytes);
    if (next === "none") high = middle;
    else if (next === "unclear" || !isBehind(next, low)) return low;
    else if (next.seq <= seq) low = next;
    else high = middle;
  }
  return low;
}

function isBehind(next: LineStart, low: LineStart): boolean {
  const lines = next.seq - low.seq;
  return lines > 0 && lines * MIN_LINE_BYTES <= next.offset - low.offset;
}

/** The first line that begins behind a place and before another one. */
async function nextLine(
  file: FileHandle,
  from: number,
  before: number,
  sizeBytes: number,
): Promise<LineStart | "none" | "unclear"> {
  let length = PROBE_BYTES;
  for (let offset = from; offset < before;) {
    const chunk = await readAt(file, offset, Math.min(length, before - offset));
    if (chunk.length === 0) return "unclear";
    const newline = chunk.indexOf(NEWLINE);
    if (newline !== -1) {
      const start = offset + newline + 1;
      if (start >= before) return "none";
      const head = await readAt(file, start, Math.min(HEAD_BYTES, sizeBytes - start));
      const seq = /^\{"v":1,"seq":(\d{1,15}),/.exec(head.toString("latin1"))?.[1];
      return seq === undefined ? "unclear" : { offset: start, seq: Number(seq) };
    }
    offset += chunk.length;
    length = Math.min(length * 4, MAX_PROBE_BYTES);
  }
  return "none";
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}
