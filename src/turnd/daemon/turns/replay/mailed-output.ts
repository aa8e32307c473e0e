import { readJsonLine } from "../../executors/contract/json-line.ts";
import type { Executor } from "../../executors/contract/executor.ts";

/** Recognises output that a mail program has changed. */
export interface MailWatch {
  /** Looks at one line after the other. @returns what was found, and the command that makes it readable */
  look(line: string, number: number): string | undefined;
}

/** Of a record that is put together again. Law: every wait is bounded. */
const MAX_PIECES = 10_000;
const MAX_ATTEMPTS = 100;
/** Shorter words are words. */
const MIN_BASE64 = 40;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const GZIP = Buffer.from([0x1f, 0x8b]);

const QUOTED_PRINTABLE = "perl -MMIME::QuotedPrint -0777 -ne 'print decode_qp($_)'";

/**
 * Watches for what mail programs do to a text: base64, and lines that are broken because they are long. A broken record is
 * one where its pieces, put together, are a record: one that a CLI did not finish never is.
 */
export function createMailWatch(executors: readonly Executor[]): MailWatch {
  let pieces: string[] = [];
  let [start, attempts] = [0, 0];

  function join(): string | undefined {
    if (attempts >= MAX_ATTEMPTS) return undefined;
    attempts += 1;
    const isQuoted = pieces.slice(0, -1).every((piece) => piece.endsWith("="));
    const whole = isQuoted ? decodeQuoted(pieces.map((piece) => piece.replace(/=$/, "")).join("")) : pieces.join("");
    const read = readJsonLine(whole);
    if (read.kind !== "value") return undefined;
    const count = pieces.length;
    pieces = [];
    // Another program's JSON over several lines is none of it.
    const found = executors.find((one) => one.recogniseRecord(read.value) !== undefined);
    if (found === undefined) return undefined;
    const what = `line ${start} is a record of ${found.id}, broken over ${count} lines`;
    return isQuoted
      ? `${what} and quoted-printable, as mail programs do; decode it first: ${QUOTED_PRINTABLE}`
      : `${what}, as mail programs do; ask for it as an attachment`;
  }

  return {
    look(line, number) {
      const text = line.replace(/\r$/, "").replace("\ufeff", "");
      if (isBase64(text)) return `line ${number} is the beginning of base64; decode it first: base64 -d`;
      const isRecord = text.startsWith("{") && readJsonLine(text).kind === "value";
      if (isRecord || pieces.length >= MAX_PIECES) pieces = [];
      if (isRecord) return undefined;
      if (pieces.length > 0) {
        pieces.push(text);
        return text.endsWith("}") ? join() : undefined;
      }
      if (text.startsWith("{")) [pieces, start] = [[text], number];
      return undefined;
    },
  };
}

/** Whether a line is where a file of JSON lines, packed by gzip or not, begins in base64. */
function isBase64(line: string): boolean {
  if (line.length < MIN_BASE64 || !BASE64.test(line)) return false;
  const head = Buffer.from(line.slice(0, MIN_BASE64), "base64");
  return head.subarray(0, 2).equals(GZIP) || /^(?:\ufeff)?\{"\w/.test(head.toString("utf8"));
}

/** Bytes that stand as `=3D`; all other characters of such a text are ASCII. */
function decodeQuoted(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
