/** The last bytes of a shell's output, by their offset in all of it. */
export interface OutputRing {
  append(bytes: Uint8Array): void;
  /** Offset of the oldest byte kept. */
  first(): number;
  /** Offset after the newest byte: the number of bytes so far. */
  next(): number;
  /** A copy of at most `maxBytes` from a kept offset on; shorter where the output ends. */
  read(offset: number, maxBytes: number): Buffer;
  /**
   * Where a reader begins that has missed output: at the oldest byte, moved to the next start of a line, an escape
   * sequence or at least a character.
   */
  start(): number;
}

/** How far to search for a good place to begin. */
const LOOK_BYTES = 4_096;
const NEWLINE = 0x0a;
const ESCAPE = 0x1b;
/** `ESC \` ends a sequence instead of beginning one. */
const BACKSLASH = 0x5c;

/** Makes a ring of fixed size; its memory does not depend on how the output arrives. */
export function createRing(sizeBytes: number): OutputRing {
  const ring = Buffer.allocUnsafe(sizeBytes);
  let written = 0;
  const first = (): number => Math.max(0, written - sizeBytes);

  function append(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - sizeBytes));
    written += bytes.length - kept.length;
    const at = written % sizeBytes;
    const head = kept.subarray(0, sizeBytes - at);
    ring.set(head, at);
    ring.set(kept.subarray(head.length), 0);
    written += kept.length;
  }

  function read(offset: number, maxBytes: number): Buffer {
    const end = Math.min(written, offset + maxBytes);
    const [from, to] = [offset % sizeBytes, end % sizeBytes];
    if (end <= offset) return Buffer.alloc(0);
    return from < to
      ? Buffer.from(ring.subarray(from, to))
      : Buffer.concat([ring.subarray(from), ring.subarray(0, to)]);
  }

  function start(): number {
    if (first() === 0) return 0;
    const head = read(first(), LOOK_BYTES);
    for (let at = 1; at < head.length; at += 1) {
      if (head[at - 1] === NEWLINE || (head[at] === ESCAPE && head[at + 1] !== BACKSLASH)) return first() + at;
    }
    const character = head.findIndex((byte) => !isContinuation(byte));
    return first() + Math.max(0, character);
  }

  return { append, first, next: () => written, read, start };
}

/** How many of the bytes are whole UTF-8 characters; bytes that are no UTF-8 count as whole. */
export function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
