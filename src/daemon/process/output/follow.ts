import { constants, fstatSync, readSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { watchIfPossible } from "./change-notices.ts";
import { createLineSplitter, type SplitLine } from "./line-splitter.ts";

/** What one scan found: lines, and how large each file is known to be. */
export interface OutputBatch {
  readonly lines: readonly SplitLine[];
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

/** How far one file had been read when an event was logged. */
export interface TakenLine {
  readonly source: "stdout" | "stderr";
  readonly line: number;
}

export interface FollowOptions {
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly maxLineBytes: number;
  /** Of each file; bytes after it are not read, whatever the file's size. Absent: everything is read. */
  readonly maxBytes?: number;
  /**
   * The order in which lines were read before, as far as it is known; later lines are read as they come. Entries are
   * requested one after the other: while a file still grows, an entry comes when its line is there.
   */
  readonly taken?: AsyncIterable<TakenLine>;
  /** Aborted when nothing will be written any more: what is left is read and the iteration ends. */
  readonly finished: AbortSignal;
  /** Aborted when nothing more is to be read, even if there is more. */
  readonly abandoned?: AbortSignal;
  /**
   * Called at the end, once every line has been read: whether there is more in the files after all. Absent: there is
   * not.
   */
  readonly hasMore?: () => Promise<boolean>;
}

/** Change notices are a hint. */
const POLL_MS = 250;
/** Each read goes to another thread and back, so it is a long one. */
const READ_BYTES = 524_288;
/**
 * What a running CLI has just written is in memory: it is read at once, up to so much. To send another thread for it takes
 * ten times as long, and on a busy machine hundreds of times.
 */
const LIVE_READ_BYTES = 65_536;
/** How much becomes lines at once. Longer text is allocated apart in the heap, which costs more and is freed late. */
const CHUNK_BYTES = 65_536;

/**
 * Reads the lines of a turn's two files, growing or complete: the only way output comes in (law 1).
 *
 * Shape: one batch per scan that found anything; a batch is limited to a chunk of each file. Where no order is known, a
 * complete recording gives stdout before stderr; lines of growing files are given as they come.
 */
export async function* followOutput(options: FollowOptions): AsyncGenerator<OutputBatch> {
  const stdout = await openLines(options.stdoutPath, "stdout", options);
  const stderr = await openLines(options.stderrPath, "stderr", options);
  const wakeUp = createWakeUp([options.stdoutPath, options.stderrPath], options.finished);
  const batch = (lines: readonly SplitLine[]): OutputBatch => ({
    lines,
    stdoutBytes: stdout.knownBytes(),
    stderrBytes: stderr.knownBytes(),
  });
  try {
    for await (const { source, line } of options.taken ?? []) {
      const file = source === "stdout" ? stdout : stderr;
      for (let lines = await file.takeUpTo(line); lines !== undefined; lines = await file.takeUpTo(line)) {
        yield batch(lines);
        if (options.abandoned?.aborted === true) return;
      }
    }
    while (options.abandoned?.aborted !== true) {
      // Read before the scan: everything that was written before `finished` is then found by this one.
      const isLast = options.finished.aborted;
      const notice = wakeUp.next();
      const look = (file: LineFile): Taken =>
        wakeUp.takeNews(file.path) || isLast || file.mayHaveMore() ? file.takeChunk() : undefined;
      const taken = look(stdout);
      // Not awaited where it is there: a reader of a live turn is given its line in this very moment.
      const fromStdout = (taken instanceof Promise ? await taken : taken) ?? (isLast ? stdout.takeRest() : undefined);
      // A complete recording is read one file after the other; in a live turn no file may starve the other.
      const isStdoutsTurn = fromStdout !== undefined && (isLast || stdout.hasMoreRead());
      const others = isStdoutsTurn ? undefined : look(stderr);
      const fromStderr = others instanceof Promise ? await others : others;
      if (fromStdout !== undefined || fromStderr !== undefined) {
        yield batch([...(fromStdout ?? []), ...(fromStderr ?? [])]);
      } else if (isLast) {
        const rest = stderr.takeRest();
        if (rest !== undefined) yield batch(rest);
        if ((await options.hasMore?.()) !== true) return;
      } else {
        await notice;
      }
    }
  } finally {
    wakeUp.close();
    await Promise.all([stdout.close(), stderr.close()]);
  }
}

/** The last line of each run of lines from one file: for files that are complete, only the order matters. */
export async function* joinRuns(taken: AsyncIterable<TakenLine>): AsyncGenerator<TakenLine> {
  let run: TakenLine | undefined;
  for await (const next of taken) {
    if (run !== undefined && run.source !== next.source) yield run;
    run = run?.source === next.source && run.line > next.line ? run : next;
  }
  if (run !== undefined) yield run;
}

/** Lines, or none: at once where a running CLI has just written them. */
type Taken = Lines | Promise<Lines>;
type Lines = readonly SplitLine[] | undefined;

interface LineFile {
  readonly path: string;
  /** More lines up to a number; undefined when that is reached, or the file ends before it. */
  takeUpTo(number: number): Promise<Lines>;
  /** The lines of one more chunk, without its unfinished last line; undefined at the end of the file so far. */
  takeChunk(): Taken;
  /** Whether the next chunk is in memory, without a read of the file. */
  hasMoreRead(): boolean;
  /** False once a read has come to the end of the file: then there is more only when the file has grown. */
  mayHaveMore(): boolean;
  /** The unfinished last line; undefined when there is none. */
  takeRest(): Lines;
  /** Its size: what was read, or more where reading is behind. */
  knownBytes(): number;
  close(): Promise<void>;
}

async function openLines(
  path: string,
  source: "stdout" | "stderr",
  { maxLineBytes, maxBytes = Infinity, finished }: Pick<FollowOptions, "maxLineBytes" | "maxBytes" | "finished">,
): Promise<LineFile> {
  const file = await openIfThere(path);
  const splitter = createLineSplitter(source, maxLineBytes);
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let unsplit: Buffer = buffer.subarray(0, 0);
  let ahead: readonly SplitLine[] = [];
  let [bytesRead, sizeBytes, lastTaken] = [0, 0, 0];
  let [isAtEnd, isBehind] = [false, false];

  function nextLines(): Taken {
    if (ahead.length > 0) return ahead;
    if (unsplit.length > 0) return split(unsplit);
    if (bytesRead >= maxBytes) return lookBeyond();
    return file === undefined || finished.aborted || isBehind ? readMore() : split(readLive(file));
  }

  function split(read: Buffer): Lines {
    unsplit = read.subarray(CHUNK_BYTES);
    return read.length === 0 ? undefined : splitter.push(read.subarray(0, CHUNK_BYTES));
  }

  async function readMore(): Promise<Lines> {
    const wanted = Math.min(READ_BYTES, maxBytes - bytesRead);
    const { bytesRead: read = 0 } = (await file?.read(buffer, 0, wanted, bytesRead)) ?? {};
    noteRead(read, wanted);
    if (isBehind) sizeBytes = (await file?.stat())?.size ?? 0;
    return split(buffer.subarray(0, read));
  }

  function readLive({ fd }: FileHandle): Buffer {
    const wanted = Math.min(LIVE_READ_BYTES, maxBytes - bytesRead);
    const read = readSync(fd, buffer, 0, wanted, bytesRead);
    noteRead(read, wanted);
    if (isBehind) sizeBytes = fstatSync(fd).size;
    return buffer.subarray(0, read);
  }

  function noteRead(read: number, wanted: number): void {
    bytesRead += read;
    isBehind = read === wanted;
    isAtEnd = !isBehind;
  }

  /** No lines, once, where the file has grown beyond what is read of it: the caller has to know. */
  async function lookBeyond(): Promise<Lines> {
    if (sizeBytes > maxBytes) return undefined;
    sizeBytes = (await file?.stat())?.size ?? 0;
    return sizeBytes > maxBytes ? [] : undefined;
  }

  /** Lines after `last` are kept for the next scan. */
  function take(lines: readonly SplitLine[], last: number): readonly SplitLine[] {
    const wanted = lines.slice(0, last - lastTaken);
    ahead = lines.slice(wanted.length);
    lastTaken += wanted.length;
    return wanted;
  }

  async function takeUpTo(last: number): Promise<Lines> {
    if (lastTaken >= last) return undefined;
    const lines = await nextLines();
    // Only a line without its newline can be missing here, and only if it was logged when the turn had ended.
    return lines === undefined ? takeRest() : take(lines, last);
  }

  function takeAll(lines: Lines): Lines {
    return lines && take(lines, Infinity);
  }

  function takeRest(): Lines {
    const rest = splitter.flush();
    return rest.length > 0 ? take(rest, Infinity) : undefined;
  }

  return {
    path,
    takeUpTo,
    takeChunk() {
      const lines = nextLines();
      return lines instanceof Promise ? lines.then(takeAll) : takeAll(lines);
    },
    takeRest,
    hasMoreRead: () => ahead.length + unsplit.length > 0,
    mayHaveMore: () => !isAtEnd || ahead.length + unsplit.length > 0,
    knownBytes: () => Math.max(bytesRead, sizeBytes),
    close: async () => file?.close(),
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    // A pipe in its place fails the read instead of blocking the open.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    // A recording may lack one of its files; a turn's own are made before it starts.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

interface WakeUp {
  /** Whether a file may have grown since this was last asked of it. */
  takeNews(path: string): boolean;
  /** Resolves at the next sign that there may be more to read. */
  next(): Promise<void>;
  close(): void;
}

function createWakeUp(paths: readonly string[], finished: AbortSignal): WakeUp {
  let wake: () => void = () => {};
  const grown = new Set(paths);
  const notify = (...changed: readonly string[]): void => {
    for (const path of changed) grown.add(path);
    wake();
  };
  const notifyAll = (): void => notify(...paths);
  const unwatch = finished.aborted ? [] : paths.map((path) => watchIfPossible(path, () => notify(path)));
  finished.addEventListener("abort", notifyAll, { once: true });
  // A notice may be missing: all files are looked at then.
  const timer = setTimeout(notifyAll, POLL_MS);

  return {
    takeNews: (path) => grown.delete(path),
    next: () =>
      new Promise((resolve) => {
        timer.refresh();
        wake = resolve;
        if (finished.aborted || grown.size > 0) resolve();
      }),
    close() {
      clearTimeout(timer);
      finished.removeEventListener("abort", notifyAll);
      for (const close of unwatch) close();
    },
  };
}
