import { constants, createReadStream } from "node:fs";
import { mkdir, mkdtemp, open, readdir, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { openRecording, type Recording } from "./recording.ts";
import { RecordingError } from "./recording-error.ts";
import { unpackDocument } from "./unpack.ts";

/** A recording that was given by name, and what has to be removed afterwards. */
export interface RecordingSource {
  readonly recording: Recording;
  close(): Promise<void>;
}

/**
 * Opens what an operator names: a directory, a file with an exported document, gzipped or not, or `-` for standard
 * input.
 *
 * A document is unpacked below the system's temporary directory, where no other user can redirect root: from there on
 * it is a directory like any other (law 1).
 * @throws {RecordingError} that names the fault and its place
 */
export async function openSource(name: string, stdin: Readable): Promise<RecordingSource> {
  if (name !== "-" && (await isDirectory(name))) {
    return { recording: await openRecording(name), close: () => Promise.resolve() };
  }
  const { held: base, close } = await makeWorkshop();
  try {
    // A name of its own: the ids of a recording that has none are made from it.
    const directory = join(
      base,
      name === "-" ? "stdin" : basename(name).replace(/(\.json)?(\.gz)?$/, "") || "document",
    );
    await mkdir(directory);
    const [bytes, shown] = name === "-" ? [stdin, "standard input"] : [createReadStream(name), name];
    await unpackDocument(decompress(bytes, shown), { name: shown, directory });
    return { recording: await openRecording(directory), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A new directory that only turnd can enter. */
interface Workshop {
  /**
   * The way to it by its descriptor, whatever its name leads to: `TMPDIR` may be a directory that others can change.
   */
  readonly held: string;
  /** Removes what is in it, and its name where that is still its own. */
  close(): Promise<void>;
}

/** @throws {RecordingError} if another directory was put in its place before it was opened */
async function makeWorkshop(): Promise<Workshop> {
  const path = await mkdtemp(join(tmpdir(), "turnd-replay-"));
  const swapped = (): RecordingError =>
    new RecordingError(
      path,
      "is not the directory that was made there; set TMPDIR to one that only this user can change",
    );
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      throw ["ENOENT", "ENOTDIR", "ELOOP"].includes(error.code ?? "") ? swapped() : error;
    },
  );
  const held = `/proc/self/fd/${directory.fd}`;
  const { uid, mode } = await directory.stat();
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0 || (await readdir(held)).length > 0) {
    await directory.close();
    throw swapped();
  }
  return {
    held,
    async close() {
      try {
        for (const name of await readdir(held)) await rm(join(held, name), { recursive: true, force: true });
      } finally {
        await directory.close();
      }
      // Fails for anything that was put there instead, unless that is an empty directory.
      await rmdir(path);
    },
  };
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw new RecordingError(path, error instanceof Error ? error.message : String(error));
  }
}

/** Recognised by its first bytes, not by its name. Source: RFC 1952 section 2.3.1. */
const GZIP = Buffer.from([0x1f, 0x8b]);

async function* decompress(source: Readable, name: string): AsyncGenerator<Buffer> {
  const chunks = readBuffers(source);
  try {
    let head: Buffer = Buffer.alloc(0);
    let next = await chunks.next();
    for (; next.done !== true && head.length < GZIP.length; next = await chunks.next()) {
      head = Buffer.concat([head, next.value]);
    }
    const whole = async function* (): AsyncGenerator<Buffer> {
      yield head;
      for (; next.done !== true; next = await chunks.next()) yield next.value;
    };
    yield* head.subarray(0, GZIP.length).equals(GZIP) ? gunzip(whole) : whole();
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    const code = String(error.code);
    if (code === "Z_BUF_ERROR") throw new RecordingError(name, "is a truncated gzip file");
    throw new RecordingError(name, code.startsWith("Z_") ? `is a broken gzip file: ${error.message}` : error.message);
  } finally {
    source.destroy();
  }
}

async function* gunzip(bytes: () => AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
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
