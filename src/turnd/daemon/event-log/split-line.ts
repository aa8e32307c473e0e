/** A logged line in two: what it says of the event, parsed, and the text of the event's data, which may be long. */
export interface SplitLine {
  readonly head: unknown;
  readonly data: string;
}

/**
 * The head stands before the data, which comes last, and no string holds an unescaped quote: this cuts between them.
 */
const DATA = ',"data":';

/** Divides a line of a log without parsing its data; undefined where its keys are in another order. */
export function splitLine(text: string): SplitLine | undefined {
  const end = text.indexOf(DATA);
  if (end === -1) return undefined;
  try {
    return { head: JSON.parse(`${text.slice(0, end)}}`), data: text.slice(end + DATA.length, -1) };
  } catch {
    return undefined;
  }
}
