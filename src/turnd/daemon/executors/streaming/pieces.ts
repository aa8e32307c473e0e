/** How often pieces of one text become events: text that comes faster is put together. */
const FIRST_MS = 40;
const MOST_MS = 250;
/** So many events of one text at the first pace; then it slows down, so that a log stays in proportion to its texts. */
const AT_FIRST_PACE = 25;

/** A text that comes in pieces. */
export interface Pieces {
  /**
   * Takes a piece.
   *
   * @param atMs - when the server sent it: what is put together depends on the lines alone, and a replay does the same
   * @returns what is to be shown now, if anything
   */
  take(piece: string, atMs: number | undefined): string | undefined;
  /** What has not been shown yet. */
  rest(): string | undefined;
  /** All that was taken. */
  text(): string;
}

/**
 * Puts pieces of a text together: the first is shown at once, later ones at a pace.
 *
 * @param holdBack - how much of a text's end may be the beginning of a secret: shown in two pieces nobody would find it.
 * Law: keys travel aside.
 */
export function createPieces(holdBack: (text: string) => number): Pieces {
  let text = "";
  let shown = 0;
  let events = 0;
  let lastMs: number | undefined;

  function showUpTo(end: number): string | undefined {
    if (shown >= end) return undefined;
    const next = text.slice(shown, end);
    shown = end;
    events += 1;
    return next;
  }

  return {
    take(piece, atMs) {
      text += piece;
      const pace = events < AT_FIRST_PACE ? FIRST_MS : MOST_MS;
      if (lastMs !== undefined && atMs !== undefined && atMs - lastMs < pace) return undefined;
      const next = showUpTo(text.length - holdBack(text.slice(shown)));
      if (next !== undefined) lastMs = atMs;
      return next;
    },
    rest: () => showUpTo(text.length),
    text: () => text,
  };
}
