import { createReadStream, constants, openSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { Socket } from "node:net";
import { defined } from "../../../kit/defined.ts";
import type { CliName, Exit } from "../../protocol/index.ts";
import { MAX_UNPACKED_BYTES, openBytes } from "./decompress.ts";
import { extractTar } from "./extract-tar.ts";
import { extractZip } from "./extract-zip.ts";
import { openWriter } from "./file-writer.ts";
import { openRecording, isThere, readExit, toRecording, type Recording } from "./recording.ts";
import { nameFault, RecordingError } from "./recording-error.ts";
import { unpackDocument } from "./unpack.ts";
import { walkRecordings, type WalkEntry } from "./walk.ts";
import { makeWorkshop, type Workshop } from "./workshop.ts";
import { describeFault } from "../storage/describe-fault.ts";

/** Whose output a file of stdout alone is, and what else was found out. */
export interface OutputOrigin {
  readonly executor: CliName;
  readonly printedLike?: string;
}

/** A recording that an operator named, or that was found below what they named. */
export interface RecordingSource {
  /** What it is called in messages and events: its path, as it was given. */
  readonly name: string;
  readonly recording: Recording;
  /** Where other files of it may be; absent for a file alone. */
  readonly directory?: string;
  /** Of output alone, which has no `turn.json`. */
  readonly origin?: OutputOrigin;
}

/** How recordings are opened. */
export interface SourceOptions {
  /** What `-` stands for. */
  readonly stdin: Readable;
  /** Finds out whose output a file is. Throws a RecordingError where that is unknown. */
  readonly identify: (path: string, name: string) => Promise<OutputOrigin>;
  /** In the place of what was recorded or found out. */
  readonly executor?: CliName;
  readonly exit?: Exit;
  /** Called with each recording that cannot be read; the next one is opened then. */
  readonly onFault: (error: RecordingError) => void;
}

/** Opens recordings one after the other. */
export interface Sources {
  /**
   * Opens what an operator names: a recording directory, or one that is searched for recordings; a file with an exported
   * document, the stdout of a CLI, or a tar or zip archive of any of these, gzipped or not; or `-` for such a file on standard
   * input.
   *
   * What is not there as plain files is unpacked below the system's temporary directory: from there on it is a directory
   * like any other. Law: the recording is the transport.
   *
   * A recording can be read until the next one is asked for.
   */
  open(name: string): AsyncGenerator<RecordingSource>;
  /** Removes everything that was unpacked, whatever goes on. Safe to call twice. */
  close(): Promise<void>;
}

interface OpenedFile {
  readonly path?: string;
  readonly name: string;
  /** Whether it was found in a directory or an archive, where not every file is a recording. */
  readonly isWalked?: boolean;
  /** How many archives it is in. */
  readonly depth?: number;
}

/** A recording in an archive of archives of sessions; more only ever fills the disk. */
const MAX_DEPTH = 4;

/** Prepares to open recordings; nothing is opened yet. */
export function createSources(options: SourceOptions): Sources {
  /** Also those that are being made: a stop may come meanwhile. */
  const workshops = new Set<Promise<Workshop>>();

  async function* withWorkshop(
    use: (directory: string) => AsyncGenerator<RecordingSource>,
  ): AsyncGenerator<RecordingSource> {
    const making = makeWorkshop();
    workshops.add(making);
    try {
      yield* use((await making).held);
    } finally {
      await closeMade(making);
      workshops.delete(making);
    }
  }

  async function* openFound({ path, kind }: WalkEntry, name: string, depth: number): AsyncGenerator<RecordingSource> {
    if (kind === "file") yield* openFile(createReadStream(path), { path, name, isWalked: true, depth });
    else if (await isThere(join(path, "turn.json"))) yield override(name, await openRecording(path));
    else if (await isThere(join(path, "stdout.jsonl"))) yield await openOutput(name, path);
    else throw new RecordingError(name, "is no recording: it has no turn.json");
  }

  /** Without `turn.json`, but with the files of a recording beside it. */
  async function openOutput(name: string, directory: string): Promise<RecordingSource> {
    const stdoutPath = join(directory, "stdout.jsonl");
    const stderrPath = join(directory, "stderr.log");
    const exit = await readExit(directory);
    return openLines(stdoutPath, {
      name,
      directory,
      ...((await isThere(stderrPath)) ? { stderrPath } : {}),
      ...(exit === null ? {} : { exit }),
    });
  }

  async function openLines(
    stdoutPath: string,
    {
      name,
      directory,
      ...known
    }: { readonly name: string; readonly directory?: string; readonly stderrPath?: string; readonly exit?: Exit },
  ): Promise<RecordingSource> {
    const origin =
      options.executor === undefined ? await options.identify(stdoutPath, name) : { executor: options.executor };
    const exit = options.exit ?? known.exit;
    const recording = toRecording({
      ...known,
      name: plainName(name),
      executor: origin.executor,
      stdoutPath,
      ...defined({ exit }),
    });
    return { name, recording, origin, ...defined({ directory }) };
  }

  async function* openFile(
    source: Readable,
    { path, name, isWalked = false, depth = 0 }: OpenedFile,
  ): AsyncGenerator<RecordingSource> {
    const { content, isCompressed, chunks } = await openBytes(source, name);
    try {
      if (content === "lines" && isWalked && /\.json(?:\.gz)?$/.test(name)) return;
      if (content === "lines" && !isCompressed && path !== undefined && (await stat(path)).isFile()) {
        yield await openLines(path, { name });
        return;
      }
      yield* withWorkshop(async function* (held) {
        // A name of its own: the ids of a recording that has none are made from it.
        const directory = join(held, plainName(name));
        await mkdir(directory);
        if (content === "tar" || content === "zip") {
          // Law: every wait is bounded. Each level has a copy of what is in it.
          if (depth >= MAX_DEPTH)
            throw new RecordingError(name, `is an archive in ${MAX_DEPTH} others: unpack them first`);
          if (content === "tar") await extractTar(chunks, { name, directory });
          else {
            const archive = join(held, ".zip");
            await copy(chunks, archive);
            await extractZip(archive, { name, directory, maxBytes: MAX_UNPACKED_BYTES });
          }
          yield* openBelow(directory, name, depth + 1);
        } else if (content === "document") {
          await unpackDocument(chunks, { name, directory });
          const recording = await openRecording(directory).catch((error: unknown) => {
            throw nameFault(error, directory, name);
          });
          yield override(name, recording);
        } else {
          const file = join(directory, "stdout.jsonl");
          await copy(chunks, file);
          yield await openLines(file, { name });
        }
      });
    } finally {
      await chunks.return(undefined);
    }
  }

  /** @param shown - what stands for the directory in names */
  async function* openBelow(directory: string, shown: string, depth = 0): AsyncGenerator<RecordingSource> {
    let count = 0;
    const report = (error: RecordingError): void => options.onFault(nameFault(error, directory, shown));
    for await (const found of walkRecordings(directory, report)) {
      const name = shown + found.path.slice(directory.length);
      try {
        for await (const source of openFound(found, name, depth)) {
          count += 1;
          yield source;
        }
      } catch (error) {
        if (!(error instanceof RecordingError)) throw error;
        count += 1;
        report(error);
      }
    }
    if (count === 0) throw new RecordingError(shown, "holds no recording: no turn.json, no stdout.jsonl, no document");
  }

  function override(name: string, recording: Recording): RecordingSource {
    const { executor = recording.turn.executor, exit = recording.exit } = options;
    const { directory } = recording;
    return { name, directory, recording: { ...recording, turn: { ...recording.turn, executor }, exit } };
  }

  return {
    async *open(name) {
      if (name === "-") yield* openFile(options.stdin, { name: "standard input" });
      else if (await isDirectory(name))
        yield* openBelow(name.replace(/(?<=.)\/+$/, ""), name.replace(/(?<=.)\/+$/, ""));
      else yield* openFile(await openNamed(name), { path: name, name });
    },
    async close() {
      await Promise.all([...workshops].map(closeMade));
    },
  };
}

/** One that could not be made is reported by its user, and there is nothing to remove. */
async function closeMade(making: Promise<Workshop>): Promise<void> {
  const workshop = await making.catch(() => undefined);
  await workshop?.close();
}

/** The last part of a name, without what shows the form. */
function plainName(name: string): string {
  if (name === "standard input") return "stdin";
  return basename(name).replace(/(\.(?:jsonl|json|tgz|tar|zip))?(\.gz)?$/, "") || "recording";
}

async function copy(chunks: AsyncGenerator<Buffer>, path: string): Promise<void> {
  const file = await openWriter(path);
  try {
    for await (const chunk of chunks) await file.write(chunk);
  } finally {
    await file.close();
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw new RecordingError(path, describeFault(error));
  }
}

/**
 * Opens a file that an operator names.
 *
 * A named pipe that has no writer yet is waited for as a socket is. A plain open of it would hold a thread of Node's, and with
 * it the process: not even `process.exit` ends one whose thread waits.
 */
async function openNamed(path: string): Promise<Readable> {
  if (!(await stat(path)).isFIFO()) return createReadStream(path);
  return new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false });
}
