import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { RawRecord } from "../../../protocol/index.ts";
import { redactLine } from "../../event-log/redact-json.ts";
import type { Redact } from "../../event-log/redact.ts";
import { NotRegularError } from "../../storage/read-regular.ts";

/** Some lines of a file of output, and whether there are lines after them. */
export interface ReadRecords {
  readonly records: RawRecord[];
  readonly has_more: boolean;
}

/** Longer lines are cut: a page shows them, and the export has them whole. */
const MAX_TEXT_BYTES = 65_536;
/** Read beyond a cut, so that a secret that the cut divides is recognised. No secret is longer, in any of its encodings. */
const BEYOND_CUT_BYTES = 8_192;
/** What one answer holds at most, and a line more. */
const MAX_ANSWER_BYTES = 4_194_304;
const CHUNK_BYTES = 262_144;
const NEWLINE = 0x0a;

/**
 * Reads at most `limit` lines from the line `from` on, secrets taken out. Law: keys travel aside.
 *
 * A last line without a newline is given as far as it is there. Memory is
 * limited whatever was printed. A missing file has no lines.
 */
export async function readRecords(
  path: string,
  { from, limit }: { readonly from: number; readonly limit: number },
  redact: Redact,
): Promise<ReadRecords> {
  const records: RawRecord[] = [];
  let answerBytes = 0;
  for await (const { line, head, bytes } of readLines(path, from)) {
    if (records.length === limit || answerBytes > MAX_ANSWER_BYTES) return { records, has_more: true };
    const record = toRecord(line, head, bytes, redact);
    answerBytes += record.text.length;
    records.push(record);
  }
  return { records, has_more: false };
}

interface Line {
  readonly line: number;
  /** Its beginning, as much as is needed. */
  readonly head: Buffer;
  readonly bytes: number;
}

function toRecord(line: number, head: Buffer, bytes: number, redact: Redact): RawRecord {
  const text = redactLine(head.toString("utf8"), redact);
  if (bytes <= MAX_TEXT_BYTES) return { line, text };
  return { line, text: text.slice(0, MAX_TEXT_BYTES), bytes };
}

async function* readLines(path: string, from: number): AsyncGenerator<Line> {
  const file = await openIfThere(path);
  if (file === undefined) return;
  try {
    if (!(await file.stat()).isFile()) throw new NotRegularError(path);
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let line = 1;
    let bytes = 0;
    let parts: Buffer[] = [];
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
      if (bytesRead === 0) break;
      for (let start = 0; start < bytesRead;) {
        const newline = chunk.subarray(0, bytesRead).indexOf(NEWLINE, start);
        const end = newline === -1 ? bytesRead : newline;
        const room = MAX_TEXT_BYTES + BEYOND_CUT_BYTES - bytes;
        if (line >= from && room > 0) parts.push(Buffer.from(chunk.subarray(start, Math.min(end, start + room))));
        bytes += end - start;
        start = end + 1;
        if (newline === -1) continue;
        if (line >= from) yield { line, head: Buffer.concat(parts), bytes };
        line += 1;
        bytes = 0;
        parts = [];
      }
    }
    if (bytes > 0 && line >= from) yield { line, head: Buffer.concat(parts), bytes };
  } finally {
    await file.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    // Not waiting for a pipe in its place.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
