import { parseTar } from "nanotar";
import { isZip, readZip } from "./read-zip.ts";

/** A file that a reader has chosen or dropped, or that was in an archive or directory of those. */
export interface GivenFile {
  /** Below what was given, with `/` between its parts. */
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** More is refused: a recording is sent as one request. */
const MOST_BYTES = 268_435_456;
const MOST_FILES = 1_000;

/** Reads files of a reader's disk; archives, gzipped or not, are what is in them. @throws {Error} that names the file */
export async function readGiven(
  files: readonly { readonly path: string; readonly file: File }[],
): Promise<GivenFile[]> {
  const given: GivenFile[] = [];
  for (const { path, file } of files) given.push(...(await unpack(path, file)));
  return given;
}

/**
 * What was dropped, directories with all that is in them.
 *
 * Must be called before the event has been handled: the browser forgets the directories then.
 */
export function readDropped(transfer: DataTransfer | null): Promise<{ path: string; file: File }[]> {
  const entries = [...(transfer?.items ?? [])].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  // What does not lie on the disk, such as a picture dragged from another page, has no entries, only files.
  const plain = [...(transfer?.files ?? [])].map((file) => ({ path: file.name, file }));
  return entries.length === 0 ? Promise.resolve(plain) : walkAll(entries);
}

async function walkAll(entries: readonly FileSystemEntry[]): Promise<{ path: string; file: File }[]> {
  const found: { path: string; file: File }[] = [];
  const queue = [...entries];
  for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
    if (isFileEntry(entry)) found.push({ path: entry.fullPath.replace(/^\//, ""), file: await fileOf(entry) });
    else if (isDirectoryEntry(entry)) queue.push(...(await entriesOf(entry)));
    if (found.length > MOST_FILES) throw new Error(`that is more than ${MOST_FILES} files: choose one recording`);
  }
  return found;
}

function isFileEntry(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isDirectoryEntry(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** A browser gives them in batches, the last of which is empty. */
async function entriesOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return entries;
    entries.push(...batch);
  }
}

async function unpack(path: string, file: File): Promise<GivenFile[]> {
  const head = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  if (isZip(head)) return readZip(path, file, { maxBytes: MOST_BYTES, maxFiles: MOST_FILES });
  const bytes = await readPlain(path, file);
  if (!isTar(bytes)) return [{ path, bytes }];
  try {
    return parseTar(bytes)
      .filter(({ type }) => type === "file" || type === "contiguousFile")
      .map(({ name, data }) => ({ path: name, bytes: new Uint8Array(data ?? []) }));
  } catch {
    throw new Error(`${path} is a broken tar archive`);
  }
}

/** The bytes, without the compression. */
async function readPlain(path: string, file: File): Promise<Uint8Array<ArrayBuffer>> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isGzip = head[0] === 0x1f && head[1] === 0x8b;
  const stream = isGzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error(isGzip ? `${path} is broken: it cannot be decompressed` : `${path} cannot be read`);
    });
    if (done) break;
    chunks.push(value);
    length += value.length;
    if (length > MOST_BYTES) {
      await reader.cancel();
      throw new Error(`${path} has more than 256 MiB: replay it with \`turnd replay\``);
    }
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** By the mark of its first header. */
function isTar(bytes: Uint8Array): boolean {
  return new TextDecoder("latin1").decode(bytes.subarray(257, 262)) === "ustar";
}
