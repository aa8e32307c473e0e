import { constants } from "node:fs";
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
      const fromStdout = (await stdout.takeChunk()) ?? (isLast ? stdout.takeRest() : undefined);
      // A complete recording is read one file after the other; in a live turn no file may starve the other.
      const isStdoutsTurn = fromStdout !== undefined && (isLast || stdout.hasMoreRead());
      const fromStderr = isStdoutsTurn ? undefined : await stderr.takeChunk();
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

interface LineFile {
  /** More lines up to a number; undefined when that is reached, or the file ends before it. */
  takeUpTo(number: number): Promise<readonly SplitLine[] | undefined>;
  /** The lines of one more chunk, without its unfinished last line; undefined at the end of the file so far. */
  takeChunk(): Promise<readonly SplitLine[] | undefined>;
  /** Whether the next chunk is in memory, without a read of the file. */
  hasMoreRead(): boolean;
  /** The unfinished last line; undefined when there is none. */
  takeRest(): readonly SplitLine[] | undefined;
  /** Its size: what was read, or more where reading is behind. */
  knownBytes(): number;
  close(): Promise<void>;
}

async function openLines(
  path: string,
  source: "stdout" | "stderr",
  { maxLineBytes, maxBytes = Infinity }: Pick<FollowOptions, "maxLineBytes" | "maxBytes">,
): Promise<LineFile> {
  const file = await openIfThere(path);
  const splitter = createLineSplitter(source, maxLineBytes);
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let unsplit: Buffer = buffer.subarray(0, 0);
  let ahead: readonly SplitLine[] = [];
  let [bytesRead, sizeBytes, lastTaken] = [0, 0, 0];

  async function nextLines(): Promise<readonly SplitLine[] | undefined> {
    if (ahead.length > 0) return ahead;
    if (bytesRead >= maxBytes && unsplit.length === 0) return lookBeyond();
    if (unsplit.length === 0) unsplit = await readMore();
    if (unsplit.length === 0) return undefined;
    const chunk = unsplit.subarray(0, CHUNK_BYTES);
    unsplit = unsplit.subarray(CHUNK_BYTES);
    return splitter.push(chunk);
  }

  async function readMore(): Promise<Buffer> {
    const wanted = Math.min(READ_BYTES, maxBytes - bytesRead);
    const read = (await file?.read(buffer, 0, wanted, bytesRead))?.bytesRead ?? 0;
    bytesRead += read;
    if (read === wanted) sizeBytes = (await file?.stat())?.size ?? 0;
    return buffer.subarray(0, read);
  }

  /** No lines, once, where the file has grown beyond what is read of it: the caller has to know. */
  async function lookBeyond(): Promise<readonly SplitLine[] | undefined> {
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

  async function takeUpTo(last: number): Promise<readonly SplitLine[] | undefined> {
    if (lastTaken >= last) return undefined;
    const lines = await nextLines();
    // Only a line without its newline can be missing here, and only if it was logged when the turn had ended.
    return lines === undefined ? takeRest() : take(lines, last);
  }

  function takeRest(): readonly SplitLine[] | undefined {
    const rest = splitter.flush();
    return rest.length > 0 ? take(rest, Infinity) : undefined;
  }

  return {
    takeUpTo,
    async takeChunk() {
      const lines = await nextLines();
      return lines && take(lines, Infinity);
    },
    takeRest,
    hasMoreRead: () => ahead.length + unsplit.length > 0,
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
  /** Resolves at the next sign that there may be more to read. */
  next(): Promise<void>;
  close(): void;
}

function createWakeUp(paths: readonly string[], finished: AbortSignal): WakeUp {
  let wake: () => void = () => {};
  const notify = (): void => wake();
  const unwatch = finished.aborted ? [] : paths.map((path) => watchIfPossible(path, notify));
  finished.addEventListener("abort", notify, { once: true });
  let timer: NodeJS.Timeout | undefined;

  return {
    next: () =>
      new Promise((resolve) => {
        clearTimeout(timer);
        timer = setTimeout(resolve, POLL_MS);
        wake = resolve;
        if (finished.aborted) resolve();
      }),
    close() {
      clearTimeout(timer);
      finished.removeEventListener("abort", notify);
      for (const close of unwatch) close();
    },
  };
}
