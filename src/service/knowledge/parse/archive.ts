import type { Readable } from "node:stream";
import { fromBuffer, type Entry, type ZipFile } from "yauzl";
import { ParseFailed } from "./failures.ts";

const MIB = 1024 * 1024;
const MAX_MEMBERS = 10_000;
const MAX_BYTES = 256 * MIB;
const MAX_MEMBER_BYTES = 128 * MIB;
const MAX_RATIO = 200;
/** Members smaller than this may be packed as well as they like. */
const RATIO_FROM = MIB;
const UNIX_LINK = 0o120000;
const FILE_TYPE = 0o170000;
const LOCAL_HEADER_BYTES = 30;

/** An archive whose every member has been unpacked once, within the limits. */
export interface Archive {
  /** Paths of the files in it, in the archive's order. */
  readonly names: readonly string[];
  /** Unpacks a member again. @returns undefined when there is none of that name */
  read(name: string): Promise<Buffer | undefined>;
}

/** Looks at each member's bytes while the gate unpacks it. */
export type MemberCheck = (name: string) => ((piece: Buffer) => void) | undefined;

/**
 * Opens an archive: the gate before any library sees it. The unpacked bytes are counted, not the sizes that the archive declares.
 *
 * @throws {ParseFailed} `archive_limit`, `archive_unsafe`, `corrupt`
 */
export async function openArchive(bytes: Buffer, check: MemberCheck = () => undefined): Promise<Archive> {
  const zip = await open(bytes);
  const entries = await entriesOf(zip);
  assertApart(entries, bytes.length);
  let left = MAX_BYTES;
  for (const entry of entries.values()) left -= await unpack(zip, entry, left, check(entry.fileName) ?? ignore);
  return {
    names: [...entries.keys()],
    async read(name) {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      const pieces: Buffer[] = [];
      await unpack(zip, entry, MAX_MEMBER_BYTES, (piece) => pieces.push(piece));
      return Buffer.concat(pieces);
    },
  };
}

function ignore(): void {
  // Counted by the caller.
}

async function open(bytes: Buffer): Promise<ZipFile> {
  return await new Promise((resolve, reject) => {
    fromBuffer(bytes, { lazyEntries: true, decodeStrings: true, validateEntrySizes: true }, (error, zip) => {
      if (error === null) resolve(zip);
      else reject(explain(error));
    });
  });
}

/** All files of the central directory; none of the checks has unpacked anything. */
async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_MEMBERS)
    throw new ParseFailed("archive_limit", `${zip.entryCount} members, over ${MAX_MEMBERS}`);
  const entries = new Map<string, Entry>();
  const seen = new Set<string>();
  await new Promise<void>((resolve, reject) => {
    zip.on("error", (error: Error) => reject(explain(error)));
    zip.on("end", resolve);
    zip.on("entry", (entry: Entry) => {
      try {
        assertSafe(entry, seen);
        if (!entry.fileName.endsWith("/")) entries.set(entry.fileName, entry);
        if (seen.size > MAX_MEMBERS) throw new ParseFailed("archive_limit", `more than ${MAX_MEMBERS} members`);
        zip.readEntry();
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    zip.readEntry();
  });
  return entries;
}

function assertSafe(entry: Entry, seen: Set<string>): void {
  const name = entry.fileName;
  const unsafe = (why: string): ParseFailed =>
    new ParseFailed("archive_unsafe", `${why}: ${JSON.stringify(name.slice(0, 200))}`);
  if (name === "" || name.includes("\0") || name.includes("\\")) throw unsafe("a member without a plain name");
  if (name.startsWith("/") || /^[A-Za-z]:/.test(name)) throw unsafe("an absolute path");
  if (name.split("/").includes("..")) throw unsafe("a path out of the archive");
  if ((entry.generalPurposeBitFlag & 1) !== 0) throw unsafe("an encrypted member");
  if (((entry.externalFileAttributes >>> 16) & FILE_TYPE) === UNIX_LINK) throw unsafe("a link");
  if (seen.has(name)) throw unsafe("a member that is there twice");
  seen.add(name);
  if (entry.uncompressedSize > MAX_MEMBER_BYTES) throw tooLarge(name);
}

/** Members that share bytes unpack to much more than they are. */
function assertApart(entries: ReadonlyMap<string, Entry>, length: number): void {
  const sorted = [...entries.values()].toSorted(
    (one, two) => one.relativeOffsetOfLocalHeader - two.relativeOffsetOfLocalHeader,
  );
  for (const [index, entry] of sorted.entries()) {
    const end = entry.relativeOffsetOfLocalHeader + LOCAL_HEADER_BYTES + entry.fileNameLength + entry.compressedSize;
    const next = sorted[index + 1]?.relativeOffsetOfLocalHeader ?? length;
    if (end > next)
      throw new ParseFailed("archive_unsafe", `members overlap: ${JSON.stringify(entry.fileName.slice(0, 200))}`);
  }
}

async function unpack(zip: ZipFile, entry: Entry, left: number, take: (piece: Buffer) => void): Promise<number> {
  let bytes = 0;
  const limit = Math.min(left, MAX_MEMBER_BYTES);
  const source = await new Promise<Readable>((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error === null ? resolve(stream) : reject(explain(error))));
  });
  try {
    for await (const piece of source) {
      if (!Buffer.isBuffer(piece)) throw new Error("a member's stream gave no bytes");
      bytes += piece.length;
      if (bytes > limit) throw tooLarge(entry.fileName);
      if (bytes > RATIO_FROM && bytes > entry.compressedSize * MAX_RATIO) throw tooLarge(entry.fileName);
      take(piece);
    }
  } catch (error) {
    throw explain(error);
  } finally {
    source.destroy();
  }
  return bytes;
}

function tooLarge(name: string): ParseFailed {
  return new ParseFailed("archive_limit", `unpacks to too much: ${JSON.stringify(name.slice(0, 200))}`);
}

/** yauzl's word for a broken archive. */
function explain(error: unknown): Error {
  if (error instanceof ParseFailed) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/invalid relative path|absolute path|invalid characters in fileName/.test(message))
    return new ParseFailed("archive_unsafe", message);
  return new ParseFailed("corrupt", `the archive cannot be read: ${message}`);
}
