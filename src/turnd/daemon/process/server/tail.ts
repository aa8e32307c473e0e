import { closeSync, fstatSync, openSync, readSync, constants } from "node:fs";
import { watchIfPossible } from "../output/change-notices.ts";

export interface TailOptions {
  readonly path: string;
  /** Where to begin, in bytes. */
  readonly from: number;
  /** Whether only whole lines are given. */
  readonly isByLine: boolean;
  /** Whether nothing is given before `begin`. */
  readonly isHeld: boolean;
  /**
   * Takes what has been written since, as soon as it is there.
   *
   * @param end - where it ends in the file
   */
  readonly take: (bytes: Buffer, end: number) => void;
}

/** Follows a file that grows. */
export interface Tail {
  /** Looks now; what is there has been taken when this returns, unless it is held. */
  look(): void;
  /** Holds nothing back any more. */
  begin(): void;
  /** Where what was taken ends. */
  end(): number;
  /** Begins anew in a file that was made empty. */
  rewind(): void;
  close(): void;
}

/** Change notices are a hint. */
const POLL_MS = 250;
const READ_BYTES = 262_144;
const NEWLINE = 10;

/**
 * Follows a file of root's that a server writes into, in this very moment: what it has just written is in memory, and to ask
 * another thread for it takes longer than to read it.
 */
export function openTail({ path, from, isByLine, take, ...options }: TailOptions): Tail {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let end = from;
  let { isHeld } = options;
  let isClosed = false;
  let isLooking = false;

  function look(): void {
    // What takes it may look too.
    if (isClosed || isLooking || isHeld) return;
    isLooking = true;
    try {
      while (takeNext(READ_BYTES));
    } finally {
      isLooking = false;
    }
  }

  /** @returns whether there may be more */
  function takeNext(most: number): boolean {
    const buffer = Buffer.allocUnsafe(most);
    const count = readSync(file, buffer, 0, most, end);
    if (count === 0) return false;
    const read = buffer.subarray(0, count);
    const whole = isByLine ? read.subarray(0, read.lastIndexOf(NEWLINE) + 1) : read;
    if (whole.length === 0) {
      // A line that is longer than one read: once all of it is there.
      const isThere = count === most && fstatSync(file).size > end + count;
      return isThere && takeNext(most * 2);
    }
    end += whole.length;
    take(whole, end);
    return !isClosed && (count === most || whole.length < count);
  }

  const unwatch = watchIfPossible(path, look);
  const timer = setInterval(look, POLL_MS);
  timer.unref();
  return {
    look,
    begin() {
      isHeld = false;
    },
    end: () => end,
    rewind() {
      end = 0;
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      unwatch();
      closeSync(file);
    },
  };
}
