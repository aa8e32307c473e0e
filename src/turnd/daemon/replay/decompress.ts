import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { RecordingError } from "./recording-error.ts";

/** What the first bytes of a file show, once it is decompressed. */
export type Content = "tar" | "zip" | "document" | "lines";

/** A file's bytes, decompressed, and what they are. */
export interface Opened {
  readonly content: Content;
  /** True where the bytes are not those of the file itself. */
  readonly isCompressed: boolean;
  readonly chunks: AsyncGenerator<Buffer>;
}

/** Recognised by its first bytes, not by its name. Source: RFC 1952 section 2.3.1. */
const GZIP = Buffer.from([0x1f, 0x8b]);
/** What else is mailed and cannot be read here, by its first bytes. Source: file(1)'s table. */
const REFUSED: readonly (readonly [Buffer, string])[] = [
  [Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), "is compressed by zstd; decompress it first (zstd -d)"],
  [Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a]), "is compressed by xz; decompress it first (xz -d)"],
  [Buffer.from("BZh"), "is compressed by bzip2; decompress it first (bzip2 -d)"],
  [Buffer.from([0x37, 0x7a, 0xbc, 0xaf]), "is a 7z archive; unpack it first"],
];
/** A local file header of a zip archive. Source: APPNOTE 4.3.7. */
const ZIP = Buffer.from("PK\u0003\u0004");
/** A header of a tar file; its mark is in all that are made since 1988. Source: POSIX.1 pax, "ustar". */
const TAR = { at: 257, mark: Buffer.from("ustar") } as const;
/** A header of a tar file, and enough to see the first field of a document. */
const HEAD_BYTES = 512;
/** What is unpacked is copied to a disk: a small file can hold any amount of zeros. Law: every wait is bounded. */
export const MAX_UNPACKED_BYTES = 8_589_934_592;

/**
 * Reads a file or a stream, gzipped or not, and finds out what is in it.
 *
 * @param name - how messages call it
 * @throws {RecordingError} if it is compressed in another way, or broken; the chunks throw it too
 */
export async function openBytes(source: Readable, name: string): Promise<Opened> {
  const bytes = withFaults(readBuffers(source), name, source);
  const raw = await takeHead(bytes, GZIP.length);
  const isCompressed = raw.subarray(0, GZIP.length).equals(GZIP);
  const plain = isCompressed ? withFaults(gunzip(prepend(raw, bytes)), name, source) : prepend(raw, bytes);
  const head = await takeHead(plain, HEAD_BYTES);
  const refused = REFUSED.find(([mark]) => head.subarray(0, mark.length).equals(mark));
  if (refused !== undefined) {
    source.destroy();
    throw new RecordingError(name, refused[1]);
  }
  return { content: recognise(head), isCompressed, chunks: limit(prepend(head, plain), name) };
}

function recognise(head: Buffer): Content {
  if (head.subarray(0, ZIP.length).equals(ZIP)) return "zip";
  const { at, mark } = TAR;
  if (head.subarray(at, at + mark.length).equals(mark)) return "tar";
  return isDocument(head.toString("utf8")) ? "document" : "lines";
}

/** The names a document's first field can have. */
const FIRST_FIELD = /^\ufeff?\s*\{\s*"(?:v|turn|exit|input|stdout|stderr|timeline)"\s*:/;

/** A record of a CLI may begin alike, but is complete on its line and has not the fields of a document. */
function isDocument(head: string): boolean {
  if (!FIRST_FIELD.test(head)) return false;
  const [line = "", rest] = head.split("\n", 2);
  if (rest === undefined) return true;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "v" in value && "turn" in value;
  } catch {
    // It goes on in the next line, as no record does.
    return true;
  }
}

/** Reads until there are so many bytes, or no more. */
async function takeHead(chunks: AsyncGenerator<Buffer>, wanted: number): Promise<Buffer> {
  const taken: Buffer[] = [];
  for (let length = 0; length < wanted;) {
    const next = await chunks.next();
    if (next.done === true) break;
    taken.push(next.value);
    length += next.value.length;
  }
  return Buffer.concat(taken);
}

async function* prepend(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}

async function* limit(chunks: AsyncGenerator<Buffer>, name: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_UNPACKED_BYTES) throw new RecordingError(name, `holds more than ${MAX_UNPACKED_BYTES} bytes`);
    yield chunk;
  }
}

async function* withFaults(chunks: AsyncGenerator<Buffer>, name: string, source: Readable): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    const code = String(error.code);
    if (code === "Z_BUF_ERROR") throw new RecordingError(name, "is a truncated gzip file");
    throw new RecordingError(name, code.startsWith("Z_") ? `is a broken gzip file: ${error.message}` : error.message);
  } finally {
    source.destroy();
  }
}

async function* gunzip(bytes: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const unzipped = createGunzip();
  const feeding = pipeline(bytes, unzipped);
  // The read below reports the same error; a reader that stops early is none.
  feeding.catch(() => undefined);
  yield* readBuffers(unzipped);
  await feeding;
}

async function* readBuffers(source: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of source) yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
}
