import type { LoggedLine } from "../../turns/turn-service.ts";

/** A batch in one piece, in the form in which it is sent. */
export type Frame = (lines: readonly LoggedLine[]) => Buffer;

/** The same frames, made once for all clients that are sent the same batch. */
export function shareFrames(frame: Frame): Frame {
  const made = new WeakMap<readonly LoggedLine[], Buffer>();
  return (lines) => {
    const before = made.get(lines);
    if (before !== undefined) return before;
    const bytes = frame(lines);
    made.set(lines, bytes);
    return bytes;
  };
}
