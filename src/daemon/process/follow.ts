import { watch, type FSWatcher } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { createLineSplitter, type SplitLine } from "./line-splitter.ts";

/** A line and where it stands: 1-based, blank lines counted. */
export interface FollowedLine extends SplitLine {
  readonly source: "stdout" | "stderr";
  readonly number: number;
}

/** What was found in one look: lines, and how large each file is known to be. */
export interface OutputBatch {
  readonly lines: readonly FollowedLine[];
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

/** How far one file had been taken when an event was logged. */
export interface TakenLine {
  readonly source: "stdout" | "stderr";
  readonly line: number;
}

export interface FollowOptions {
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly maxLineBytes: number;
  /** The order in which lines were taken before, as far as it is known; the rest is taken as it comes. */
  readonly taken?: AsyncIterable<TakenLine>;
  /** Aborted when nothing will be written any more: what is left is read and the iteration ends. */
  readonly finished: AbortSignal;
}

/** Change notices are a hint: a file system may not give them. */
const POLL_MS = 250;
const CHUNK_BYTES = 65_536;

/**
 * Reads the lines of a turn's two files, growing or complete: the one way output comes in (law 1).
 *
 * Shape: one batch for each look that found anything; a batch is bounded by a chunk of each file. Where no order is
 * known, a complete recording gives stdout before stderr; growing files are taken as they come.
 */
export async function* followOutput(options: FollowOptions): AsyncGenerator<OutputBatch> {
  const stdout = await openLines(options.stdoutPath, "stdout", options.maxLineBytes);
  const stderr = await openLines(options.stderrPath, "stderr", options.maxLineBytes);
  const wakeUp = createWakeUp([options.stdoutPath, options.stderrPath], options.finished);
  const batch = (lines: FollowedLine[]): OutputBatch => ({
    lines,
    stdoutBytes: stdout.knownBytes(),
    stderrBytes: stderr.knownBytes(),
  });
  try {
    for await (const { source, line } of options.taken ?? []) {
      const lines = await (source === "stdout" ? stdout : stderr).takeUpTo(line);
      if (lines.length > 0) yield batch(lines);
    }
    for (;;) {
      // Taken before the look: what is written before `finished` is then sure to be found by this one.
      const isLast = options.finished.aborted;
      const notice = wakeUp.next();
      const fromStdout = (await stdout.takeChunk()) ?? (isLast ? stdout.takeRest() : undefined);
      // A complete recording is read one file after the other; a live turn must not let one file starve the other.
      const fromStderr = isLast && fromStdout !== undefined ? undefined : await stderr.takeChunk();
      if (fromStdout !== undefined || fromStderr !== undefined) {
        yield batch([...(fromStdout ?? []), ...(fromStderr ?? [])]);
      } else if (isLast) {
        const rest = stderr.takeRest();
        if (rest !== undefined) yield batch(rest);
        return;
      } else {
        await notice;
      }
    }
  } finally {
    wakeUp.close();
    await Promise.all([stdout.close(), stderr.close()]);
  }
}

interface LineFile {
  /** Lines up to a number, fewer where the file ends before it. */
  takeUpTo(number: number): Promise<FollowedLine[]>;
  /** What one more chunk holds, without its unfinished last line; undefined at the end of what is there. */
  takeChunk(): Promise<FollowedLine[] | undefined>;
  /** The unfinished last line; undefined when there is none. */
  takeRest(): FollowedLine[] | undefined;
  /** Its size: what was read, or more where reading lags behind. */
  knownBytes(): number;
  close(): Promise<void>;
}

async function openLines(path: string, source: "stdout" | "stderr", maxLineBytes: number): Promise<LineFile> {
  const file = await openIfThere(path);
  const splitter = createLineSplitter(maxLineBytes);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let ahead: FollowedLine[] = [];
  let [bytesRead, sizeBytes, count] = [0, 0, 0];

  const number = (lines: SplitLine[]): FollowedLine[] =>
    lines.map(({ text, isTruncated }) => ({ source, number: ++count, text, isTruncated }));

  async function takeChunk(): Promise<FollowedLine[] | undefined> {
    if (ahead.length > 0) return ahead.splice(0);
    const read = (await file?.read(buffer, 0, CHUNK_BYTES, bytesRead))?.bytesRead ?? 0;
    if (read === 0) return undefined;
    bytesRead += read;
    if (read === CHUNK_BYTES) sizeBytes = (await file?.stat())?.size ?? 0;
    return number(splitter.push(buffer.subarray(0, read)));
  }

  async function takeUpTo(last: number): Promise<FollowedLine[]> {
    const taken: FollowedLine[] = [];
    while (count - ahead.length < last) {
      const lines = await takeChunk();
      // Only a line without its newline can be missing here, and only if it was logged when the turn had ended.
      if (lines === undefined) return [...taken, ...number(splitter.flush())];
      const surplus = lines.findIndex((line) => line.number > last);
      taken.push(...(surplus === -1 ? lines : lines.slice(0, surplus)));
      ahead = surplus === -1 ? [] : lines.slice(surplus);
    }
    return taken;
  }

  return {
    takeUpTo,
    takeChunk,
    takeRest: () => {
      const rest = number(splitter.flush());
      return rest.length > 0 ? rest : undefined;
    },
    knownBytes: () => Math.max(bytesRead, sizeBytes),
    close: async () => file?.close(),
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    // A recording may lack one of its files; a turn's own are made before it starts.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

interface WakeUp {
  /** Resolves at the next sign that there may be something to read. */
  next(): Promise<void>;
  close(): void;
}

function createWakeUp(paths: readonly string[], finished: AbortSignal): WakeUp {
  let wake: () => void = () => {};
  const notify = (): void => wake();
  const watchers = finished.aborted ? [] : paths.flatMap((path) => watchIfPossible(path, notify));
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
      for (const watcher of watchers) watcher.close();
    },
  };
}

function watchIfPossible(path: string, notify: () => void): FSWatcher[] {
  try {
    const watcher = watch(path, { persistent: false }, notify);
    // The poll goes on without it.
    watcher.on("error", () => watcher.close());
    return [watcher];
  } catch {
    // No notices on this file system, or no more watches: the poll alone decides then.
    return [];
  }
}
