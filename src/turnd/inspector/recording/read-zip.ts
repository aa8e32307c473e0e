import type { Entry, FileEntry, Reader } from "@zip.js/zip.js/lib/zip-core-reader.js";

/** A file that was in an archive. */
export interface UnpackedFile {
  /** With `/` between its parts. */
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What one archive may hold. Law: every wait is bounded. */
export interface ZipLimits {
  /** Unpacked, counted as it comes out: what an archive says of itself is no limit. */
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** A file's kind, in the upper half of its external attributes where a Unix made the archive. Source: APPNOTE 4.4.15. */
const KIND = 0o170_000;
const REGULAR = 0o100_000;

/** By its first bytes: an entry, or the end of an archive that has none. */
export function isZip(head: Uint8Array): boolean {
  const [p, k, three, four] = head;
  return p === 0x50 && k === 0x4b && ((three === 3 && four === 4) || (three === 5 && four === 6));
}

/** The regular files of a zip archive. Links in it are left out. @throws {Error} that names the archive, and says what is wrong */
export async function readZip(name: string, file: Blob, limits: ZipLimits): Promise<UnpackedFile[]> {
  // Loaded when one is opened.
  const { ZipReader } = await import("@zip.js/zip.js/lib/zip-core-reader.js").catch((error: unknown) => {
    throw new Error("turnd was replaced since this page was loaded: load it again to open a zip", { cause: error });
  });
  // The page's policy allows no worker.
  const archive = new ZipReader(readerOf(file), { useWebWorkers: false, checkSignature: true });
  try {
    return await unpack(name, archive.getEntriesGenerator(), limits);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${name} is a broken zip archive: ${why}`, { cause: error });
  } finally {
    await archive.close();
  }
}

/** A file of the reader's disk, of which no more is read than is asked for. */
function readerOf(file: Blob): Reader<Blob> {
  const part = (offset: number, size: number): Blob => file.slice(offset, offset + size);
  return {
    size: file.size,
    get readable() {
      return file.stream();
    },
    createReadable: ({ offset = 0, size = file.size - offset } = {}) => part(offset, size).stream(),
    readUint8Array: async (offset, size) => new Uint8Array(await part(offset, size).arrayBuffer()),
  };
}

/** Why an archive is refused that is whole. */
class Refusal extends Error {}

async function unpack(name: string, entries: AsyncIterable<Entry>, limits: ZipLimits): Promise<UnpackedFile[]> {
  const given: UnpackedFile[] = [];
  let count = 0;
  let leftBytes = limits.maxBytes;
  for await (const entry of entries) {
    count += 1;
    if (count > limits.maxFiles)
      throw new Refusal(`${name} has more than ${limits.maxFiles} entries: open one recording`);
    if (!isFile(entry)) continue;
    if (entry.encrypted) throw new Refusal(`${name}: ${entry.filename} is encrypted: unpack it first`);
    const bytes = await read(entry, leftBytes);
    if (bytes === undefined) {
      throw new Refusal(`${name} has more than ${limits.maxBytes / 1_048_576} MiB: replay it with \`turnd replay\``);
    }
    leftBytes -= bytes.length;
    given.push({ path: entry.filename, bytes });
  }
  return given;
}

/** Kinds of files are only in archives made on Unix. */
function isFile(entry: Entry): entry is FileEntry {
  const kind = (entry.externalFileAttributes >>> 16) & KIND;
  return !entry.directory && (kind === 0 || kind === REGULAR);
}

/** Undefined where it is longer than that. */
async function read(entry: FileEntry, mostBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const ending = new AbortController();
  const target = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(chunk) {
      length += chunk.length;
      if (length > mostBytes) ending.abort();
      else chunks.push(chunk);
    },
  });
  try {
    await entry.getData(target, { signal: ending.signal });
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  }
  return length > mostBytes ? undefined : new Uint8Array(await new Blob(chunks).arrayBuffer());
}
