import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import type { RecordedPiece } from "../../protocol/index.ts";
import { redactLine } from "../event-log/redact-json.ts";
import type { Redact } from "../event-log/redact.ts";

/** A longer line is cut into several pieces, so that memory stays limited whatever was printed. */
const MAX_PIECE_BYTES = 1_048_576;
/** No secret is longer, in any of its encodings. */
const MAX_SECRET_CHARACTERS = 8_192;
const NEWLINE = 0x0a;

/**
 * Reads a file of output in pieces for a document: one line each, with its newline, secrets taken out. Law: keys travel
 * aside.
 *
 * A line that is not valid UTF-8 is given completely in base64, and so byte for byte. With a secret in it, it is given
 * as text in which invalid bytes are U+FFFD, as in its events.
 * @param path - of a file that may be missing: then there are no pieces
 */
export async function* readPieces(path: string, redact: Redact): AsyncGenerator<RecordedPiece> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of readChunks(path)) {
    let bytes = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE)) {
      yield toPiece(bytes.subarray(0, end + 1), redact);
      bytes = bytes.subarray(end + 1);
    }
    while (bytes.length > MAX_PIECE_BYTES + 2 * MAX_SECRET_CHARACTERS) {
      const cut = findCut(bytes, redact);
      yield toPiece(bytes.subarray(0, cut), redact);
      bytes = bytes.subarray(cut);
    }
    pending = bytes;
  }
  if (pending.length > 0) yield toPiece(pending, redact);
}

/** The bytes that a piece represents. */
export function bytesOf(piece: RecordedPiece): Buffer {
  return typeof piece === "string" ? Buffer.from(piece) : Buffer.from(piece.base64, "base64");
}

function toPiece(bytes: Buffer, redact: Redact): RecordedPiece {
  const text = bytes.toString("utf8");
  const masked = redactLine(text, redact);
  return masked !== text || isUtf8(bytes) ? masked : { base64: bytes.toString("base64") };
}

/** Where a long line can be cut: between two characters, and not inside a secret. */
function findCut(bytes: Buffer, redact: Redact): number {
  for (let cut = MAX_PIECE_BYTES; cut > MAX_PIECE_BYTES - MAX_SECRET_CHARACTERS; cut -= 1) {
    if (isContinuation(bytes[cut])) continue;
    const left = bytes.toString("utf8", cut - MAX_SECRET_CHARACTERS, cut);
    const right = bytes.toString("utf8", cut, cut + MAX_SECRET_CHARACTERS);
    // Where both sides alone give the same as both together, nothing that is masked crosses the cut.
    if (redact(left) + redact(right) === redact(left + right)) return cut;
  }
  return MAX_PIECE_BYTES;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

async function* readChunks(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 262_144 })) {
      if (Buffer.isBuffer(chunk)) yield chunk;
    }
  } catch (error) {
    // A recording may lack one of its files.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
