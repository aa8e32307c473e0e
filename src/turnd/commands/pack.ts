import { constants, createReadStream } from "node:fs";
import { mkdir, open, readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Redact } from "../daemon/event-log/redact.ts";
import { openBytes } from "../daemon/replay/decompress.ts";
import { exportRecording } from "../daemon/replay/export.ts";
import { RecordingError } from "../daemon/replay/recording-error.ts";
import { unpackDocument } from "../daemon/replay/unpack.ts";
import { redactTurns } from "../daemon/turns/store/read-turn-secrets.ts";
import { untilAborted } from "./until-aborted.ts";
import { write } from "./write.ts";

/**
 * Writes a recording directory as one document, secrets taken out.
 *
 * @param to - a new file, gzipped where its name ends in `.gz`; `-` for the output. Removed again if this throws
 * @throws {RecordingError} if the directory is no recording, or the file is there
 */
export async function packRecording(
  directory: string,
  to: string,
  { redact, out, signal }: { readonly redact: Redact; readonly out: Writable; readonly signal: AbortSignal },
): Promise<void> {
  await assertDirectory(directory);
  const document = exportRecording(directory, await redactTurns(redact, [directory]));
  // Whether it is a recording is known before the file is made.
  const first = await document.next();
  const chunks = Readable.from(prepend(first.done === true ? "" : first.value, document), { objectMode: false });
  if (to === "-") {
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      await write(out, Buffer.isBuffer(chunk) ? chunk : String(chunk));
    }
    return;
  }
  const file = await open(to, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EEXIST" ? new RecordingError(to, "is there already; name a new file") : error;
  });
  try {
    const target = file.createWriteStream({ flush: true });
    await (to.endsWith(".gz")
      ? pipeline(chunks, createGzip(), target, { signal })
      : pipeline(chunks, target, { signal }));
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  }
}

/**
 * Writes a document as a recording directory, which is removed or emptied again if this throws.
 *
 * @param from - `-` for standard input
 * @param to - is made where it is missing
 * @throws {RecordingError} if it is no document, or the directory has something in it
 */
export async function unpackRecording(
  from: string,
  to: string,
  { stdin, signal }: { readonly stdin: Readable; readonly signal: AbortSignal },
): Promise<void> {
  const name = from === "-" ? "standard input" : from;
  if (from !== "-" && (await stat(from)).isDirectory())
    throw new RecordingError(from, "is a directory, not a document");
  const source = from === "-" ? stdin : createReadStream(from);
  const { content, chunks } = await openBytes(source, name);
  try {
    if (content !== "document") throw new RecordingError(name, "is no document of a recording; turnd replay reads it");
    const wasMade = (await mkdir(to, { recursive: true, mode: 0o700 })) !== undefined;
    // Where others can rename it, another directory could take its place, with links to files that they want written.
    const directory = await open(to, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    const held = `/proc/self/fd/${directory.fd}`;
    try {
      if ((await readdir(held)).length > 0) throw new RecordingError(to, "is not empty; name a directory to be made");
      await unpackDocument(whileRunning(chunks, signal), { name, directory: held }).catch(async (error: unknown) => {
        for (const entry of await readdir(held)) await rm(join(held, entry), { recursive: true, force: true });
        if (wasMade) await rmdir(to);
        throw error;
      });
    } finally {
      await directory.close();
    }
  } finally {
    source.destroy();
  }
}

async function assertDirectory(path: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw new RecordingError(path, "is no recording directory");
}

async function* prepend(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

async function* whileRunning(chunks: AsyncGenerator<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  const aborted = untilAborted(signal);
  // Called for each chunk.
  aborted.catch(() => undefined);
  for (;;) {
    const next = await Promise.race([chunks.next(), aborted]);
    if (next.done === true) return;
    yield next.value;
  }
}
