/** One line of a log, without its newline; `seq` is its place, which is also its 1-based line number. */
export interface LoggedLine {
  readonly seq: number;
  readonly type: string;
  readonly bytes: Buffer;
  /** What a client comes back with, where that is not `seq`. */
  readonly id?: string;
}

const NEWLINE = 0x0a;
/** The envelope is shorter: of a longer line no more is made text to find its type. */
const HEAD_BYTES = 512;

/** Whole lines as they stand in a log, and what is left behind the last newline. */
export interface ReadLines {
  readonly lines: readonly LoggedLine[];
  readonly rest: Buffer;
}

/** Takes a piece of a log apart. @param seq - of the line before its first */
export function readLines(bytes: Buffer, seq: number): ReadLines {
  const lines: LoggedLine[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(toLine(seq + lines.length + 1, bytes.subarray(start, end)));
    start = end + 1;
  }
  return { lines, rest: bytes.subarray(start) };
}

/** Takes a piece of a log apart whose events are known: it need not be read. @param seq - of the line before its first */
export function cutLines(
  bytes: Buffer,
  seq: number,
  events: readonly { readonly type: string }[],
): readonly LoggedLine[] {
  let start = 0;
  return events.map(({ type }, index) => {
    const end = bytes.indexOf(NEWLINE, start);
    const line = { seq: seq + index + 1, type, bytes: bytes.subarray(start, end) };
    start = end + 1;
    return line;
  });
}

function toLine(seq: number, bytes: Buffer): LoggedLine {
  // The envelope comes first and its other values hold no quotes, so the type is found without parsing the data.
  const type = /"type":"([a-z._]+)"/.exec(bytes.toString("latin1", 0, HEAD_BYTES))?.[1];
  if (type === undefined) throw new Error(`line ${seq} of the event log has no type`);
  return { seq, type, bytes };
}
