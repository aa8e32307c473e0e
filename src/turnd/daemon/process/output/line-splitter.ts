/** A line without its newline, and its number. */
export interface SplitLine {
  readonly source: "stdout" | "stderr";
  /** 1-based, blank lines counted. */
  readonly number: number;
  readonly text: string;
  /** Longer than the limit: `text` is its beginning. */
  readonly isTruncated: boolean;
}

/** Cuts the bytes of one file into lines at newline bytes only, wherever the chunks begin and end. */
export interface LineSplitter {
  push(chunk: Buffer): SplitLine[];
  /** The last line, if the bytes did not end with a newline. */
  flush(): SplitLine[];
}

/** How much of a line beyond the limit is kept, in bytes; less where the limit itself is less. */
const HEAD_BYTES = 65_536;
/** A larger buffer is not kept for a line that may come. */
const LONG_BYTES = 1_048_576;
const NEWLINE = 0x0a;

/**
 * Makes a splitter that holds at most one line.
 *
 * turnd's own, although split2 would do for short lines: a line beyond the limit is counted and its beginning kept, and
 * invalid UTF-8 becomes U+FFFD within its line only.
 * @param maxLineBytes - of a line without its newline
 */
export function createLineSplitter(source: SplitLine["source"], maxLineBytes: number): LineSplitter {
  const headBytes = Math.min(HEAD_BYTES, maxLineBytes);
  /** The beginning of a line whose end has not come. */
  let pending: Buffer = Buffer.alloc(0);
  let pendingBytes = 0;
  let count = 0;

  function keep(bytes: Buffer): void {
    const start = pendingBytes;
    pendingBytes += bytes.length;
    if (pendingBytes <= maxLineBytes) {
      makeRoom(start, pendingBytes);
      bytes.copy(pending, start);
    } else if (start < headBytes) {
      // The bytes beyond the limit stay in the file; the kept beginning is the same wherever the chunks were cut.
      makeRoom(start, headBytes);
      bytes.copy(pending, start, 0, headBytes - start);
    }
  }

  /** One buffer for all lines of a file, not one for each piece: a long line is held once. */
  function makeRoom(usedBytes: number, neededBytes: number): void {
    if (neededBytes <= pending.length) return;
    const grown = Buffer.allocUnsafe(Math.max(neededBytes, Math.min(2 * pending.length, maxLineBytes)));
    pending.copy(grown, 0, 0, usedBytes);
    pending = grown;
  }

  function toLine(text: string, isTruncated: boolean): SplitLine {
    count += 1;
    return { source, number: count, text, isTruncated };
  }

  function take(): SplitLine {
    const isTruncated = pendingBytes > maxLineBytes;
    const text = pending.toString("utf8", 0, isTruncated ? headBytes : pendingBytes);
    // Memory that a long line needed is freed with the next short one.
    if (pending.length > LONG_BYTES && pendingBytes < LONG_BYTES) pending = Buffer.alloc(0);
    pendingBytes = 0;
    return toLine(text, isTruncated);
  }

  /** The line that ends at the first newline of a chunk; mostly it began there too, and is not copied. */
  function endLine(chunk: Buffer, end: number): SplitLine {
    if (pendingBytes === 0 && end <= maxLineBytes) return toLine(chunk.toString("utf8", 0, end), false);
    keep(chunk.subarray(0, end));
    return take();
  }

  function push(chunk: Buffer): SplitLine[] {
    const first = chunk.indexOf(NEWLINE);
    if (first === -1) {
      keep(chunk);
      return [];
    }
    const lines = [endLine(chunk, first)];
    const last = chunk.lastIndexOf(NEWLINE);
    if (last > first) lines.push(...splitWhole(chunk.subarray(first + 1, last)));
    if (last + 1 < chunk.length) keep(chunk.subarray(last + 1));
    return lines;
  }

  function splitWhole(bytes: Buffer): SplitLine[] {
    // One decoding for all lines of a chunk is several times faster than one for each.
    if (bytes.length <= maxLineBytes)
      return bytes
        .toString("utf8")
        .split("\n")
        .map((text) => toLine(text, false));
    const lines: SplitLine[] = [];
    for (let start = 0, end = 0; end !== -1; start = end + 1) {
      end = bytes.indexOf(NEWLINE, start);
      keep(bytes.subarray(start, end === -1 ? bytes.length : end));
      lines.push(take());
    }
    return lines;
  }

  return { push, flush: () => (pendingBytes > 0 ? [take()] : []) };
}
