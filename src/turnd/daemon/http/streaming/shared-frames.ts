import type { LoggedLine } from "../../turns/turn-service.ts";
import type { Piece } from "./chunks.ts";

/** A batch in one piece, in the form in which it is sent. */
export type Frame = (lines: readonly LoggedLine[]) => Piece;

/** A longer piece is made for one client, which comes late: those who wait are given less at once. */
const MAX_KEPT_BYTES = 131_072;

/**
 * The same frames, made once for all clients that are sent the same batch: they are so one after the other.
 *
 * The batch is not held: a short line of it may be part of the memory that a long one needed.
 */
export function shareFrames(frame: Frame): Frame {
  let last: { readonly lines: WeakRef<readonly LoggedLine[]>; readonly piece: Piece } | undefined;
  return (lines) => {
    if (last?.lines.deref() === lines) return last.piece;
    const piece = frame(lines);
    last = piece.bytes.length <= MAX_KEPT_BYTES ? { lines: new WeakRef(lines), piece } : undefined;
    return piece;
  };
}
