import { constants, fstatSync, readSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { createLineSplitter, type SplitLine } from "./line-splitter.ts";
import { createWakeUp } from "./wake-up.ts";

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
  /** Takes what a running CLI prints while nothing else is left to be taken; otherwise the iteration has it. */
  readonly atOnce?: TakeBatch;
}

/** Takes a batch in the moment in which it is read. @returns a promise where no more can be taken before it is kept */
export type TakeBatch = (batch: OutputBatch) => Promise<void> | undefined;

/** Each read goes to another thread and back, so it is a long one. */
const READ_BYTES = 524_288;
/**
 * What a running CLI has just written is in memory: it is read at once, up to so much. To send another thread for it takes
 * ten times as long, and on a busy machine hundreds of times.
 */
const LIVE_READ_BYTES = 65_536;
/** How much becomes lines at once. Longer text is allocated apart in the heap, which costs more and is freed late. */
const CHUNK_BYTES = 65_536;
const NOTHING = Buffer.alloc(0);

/**
 * Reads the lines of a turn's two files, growing or complete: the only way output comes in. Law: the recording is the
 * transport.
 *
 * Gives one batch per scan that found anything; a batch is limited to a chunk of each file. Where no order is known, a
 * complete recording gives stdout before stderr; lines of growing files are given as they come.
 */
export async function* followOutput(options: FollowOptions): AsyncGenerator<OutputBatch> {
  const stdout = await openLines(options.stdoutPath, "stdout", options);
  const stderr = await openLines(options.stderrPath, "stderr", options);
  const { finished, abandoned, atOnce } = options;
  const wakeUp = createWakeUp({ paths: [stdout.path, stderr.path], finished, take: takeAtOnce });
  /** Nothing is being read or passed on, and all there was has been. */
  let isIdle = false;
  let behind: Promise<void> | undefined;
  const batch = (lines: readonly SplitLine[]): OutputBatch => ({
    lines,
    stdoutBytes: stdout.knownBytes(),
    stderrBytes: stderr.knownBytes(),
  });
  function takeAtOnce(): boolean {
    if (!isIdle || finished.aborted || abandoned?.aborted === true) return false;
    if (!stdout.canTakeNow() || !stderr.canTakeNow()) return false;
    const fromStdout = wakeUp.takeNews(stdout.path) ? stdout.takeNow() : undefined;
    const fromStderr = wakeUp.takeNews(stderr.path) ? stderr.takeNow() : undefined;
    const lines =
      fromStdout === undefined ? fromStderr : fromStderr === undefined ? fromStdout : [...fromStdout, ...fromStderr];
    if (lines !== undefined) behind = atOnce?.(batch(lines));
    return behind === undefined && stdout.canTakeNow() && stderr.canTakeNow();
  }
  try {
    for await (const { source, line } of options.taken ?? []) {
      const file = source === "stdout" ? stdout : stderr;
      for (let lines = await file.takeUpTo(line); lines !== undefined; lines = await file.takeUpTo(line)) {
        yield batch(lines);
        if (abandoned?.aborted === true) return;
      }
    }
    while (abandoned?.aborted !== true) {
      // Read before the scan: everything that was written before `finished` is then found by this one.
      const isLast = finished.aborted;
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
        isIdle = atOnce !== undefined;
        await notice;
        isIdle = false;
        await behind;
        behind = undefined;
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
  /** Whether all that was read is taken, and a short read comes next. */
  canTakeNow(): boolean;
  /** As `takeChunk`, with a read that does not wait. */
  takeNow(): Lines;
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
  let unsplit: Buffer = NOTHING;
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
    const isShort = read.length <= CHUNK_BYTES;
    unsplit = isShort ? NOTHING : read.subarray(CHUNK_BYTES);
    return read.length === 0 ? undefined : splitter.push(isShort ? read : read.subarray(0, CHUNK_BYTES));
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
    if (lines === undefined) return undefined;
    ahead = [];
    lastTaken += lines.length;
    return lines;
  }

  function takeRest(): Lines {
    const rest = splitter.flush();
    return rest.length > 0 ? takeAll(rest) : undefined;
  }

  return {
    path,
    takeUpTo,
    takeChunk() {
      const lines = nextLines();
      return lines instanceof Promise ? lines.then(takeAll) : takeAll(lines);
    },
    canTakeNow: () => file !== undefined && !isBehind && ahead.length + unsplit.length === 0 && bytesRead < maxBytes,
    takeNow: () => (file === undefined ? undefined : takeAll(split(readLive(file)))),
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
