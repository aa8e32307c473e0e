/** Newer ones stand on the line behind the place, the older between quotation marks before it. */
const REASON = /panicked at (?:'([^]*?)', \S+:\d+:\d+|\S+:\d+:\d+:\r?\n(.*))/;

/**
 * The reason of a panic of the CLI, or of a program beside it: what follows, about backtraces, says nothing.
 *
 * @param text - from the line that says "panicked at" on
 * @returns the whole text where it has no reason in a known place
 */
export function readPanicReason(text: string): string {
  const [, quoted, behind] = REASON.exec(text) ?? [];
  return quoted ?? behind ?? text;
}
