/** Collects lines as UTF-8, in memory that is used again for the next ones. */
export interface LineBuffer {
  clear(): void;
  add(line: string): void;
  /** Everything since `clear`. Written over after the next one. */
  bytes(): Buffer;
}

/** Room for what one chunk of a CLI's output usually comes to. */
const USUAL_BYTES = 262_144;
/** No character takes more for each unit it has in a string. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * Creates an empty buffer.
 *
 * Fresh memory costs more than the writing of it: a quarter of a replay's time went into memory that was thrown away.
 */
export function createLineBuffer(): LineBuffer {
  const usual = Buffer.allocUnsafe(USUAL_BYTES);
  let buffer = usual;
  let size = 0;

  function makeRoom(line: string): void {
    if (line.length * MAX_BYTES_PER_UNIT <= buffer.length - size) return;
    const needed = size + Buffer.byteLength(line);
    if (needed <= buffer.length) return;
    const grown = Buffer.allocUnsafe(size === 0 ? needed : Math.max(needed, 2 * buffer.length));
    buffer.copy(grown, 0, 0, size);
    buffer = grown;
  }

  return {
    clear() {
      // What a long line needed goes with the next short ones.
      if (size <= USUAL_BYTES) buffer = usual;
      size = 0;
    },
    add(line) {
      makeRoom(line);
      size += buffer.write(line, size);
    },
    bytes: () => buffer.subarray(0, size),
  };
}
