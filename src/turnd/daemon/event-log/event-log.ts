import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { stateDisk } from "../storage/disk-pace.ts";
import { createSequence, type NewEvent, type SequenceOptions, type SequenceStart } from "./sequence.ts";
import type { WritableTail } from "./tail.ts";

export interface EventLogOptions extends SequenceOptions {
  readonly path: string;
  /** Advanced with every append; ended by `close`. */
  readonly tail: WritableTail;
}

/** What stands before the last event. */
export interface LogSoFar {
  readonly events: number;
  /** Hex SHA-256 over every byte. */
  readonly digest: string;
}

/**
 * The events of one turn, append only.
 *
 * Appends run one after the other, in the order of the calls, from any caller and whether or not they are awaited.
 */
export interface EventLog {
  /**
   * Gives each event the next `seq` and writes them all with one call, before any reader sees them. Law: log first.
   *
   * @returns a promise where it is not done at once: for a long piece, a slow disk, or after an append that is not done either
   */
  append(events: readonly NewEvent[]): Promise<void> | undefined;
  /**
   * Appends the last event, durably: it is on the disk before any reader sees it. Nothing can be appended after it.
   * Law: one end.
   *
   * @param makeEvent - called once every earlier append is done; again when the call is repeated after a failure
   * @param beforeVisible - called in between, so that a reader of the event finds all other state in accord
   */
  appendLast(makeEvent: (log: LogSoFar) => NewEvent, beforeVisible: () => void): Promise<void>;
  lastSeq(): number;
  /** Hex SHA-256 over every byte so far. */
  digest(): string;
  /** Waits for the appends before it, then ends every reader's wait. */
  close(): Promise<void>;
}

/**
 * Opens a turn's log for appending, whole lines kept and a torn last line cut off.
 *
 * @throws the system's error when the file cannot be opened, read or cut
 */
export async function openEventLog(options: EventLogOptions): Promise<EventLog> {
  const { tail } = options;
  const file = await open(options.path, "a+", 0o600);
  const { size: recovered, ...start } = await recover(file).catch(async (error: unknown) => {
    await file.close();
    throw error;
  });
  const sequence = createSequence(options, start);
  let size = recovered;
  let hasRemains = false;
  let hasEnded = false;
  const queue = createQueue();
  tail.advance(size, sequence.lastSeq());

  /** All of it or nothing: what fails on the way leaves no line, whole or torn, for the next one to come behind. */
  function write(bytes: Buffer): Promise<void> | undefined {
    try {
      return appendAtOnce(file, bytes) ? undefined : appendAll(file, bytes).catch(undo);
    } catch (error) {
      return undo(error);
    }
  }
  async function undo(cause: unknown): Promise<never> {
    // Where even this fails, it comes before the next line.
    await takeBack().catch(() => undefined);
    throw cause;
  }
  async function takeBack(): Promise<void> {
    hasRemains = true;
    await file.truncate(size);
    hasRemains = false;
  }
  function show(bytes: Buffer, events: readonly NewEvent[]): undefined {
    size += bytes.length;
    tail.advance(size, sequence.lastSeq() + events.length, { bytes, events });
    // No reader waits for the hash.
    sequence.take(bytes, events.length);
  }
  /** What nothing can be appended before. */
  async function renderNext(
    makeEvents: () => readonly NewEvent[],
  ): Promise<{ events: readonly NewEvent[]; bytes: Buffer }> {
    if (hasEnded) throw new Error(`the log of turn ${options.turnId} has its last event`);
    if (hasRemains) await takeBack();
    const events = makeEvents();
    return { events, bytes: sequence.render(events) };
  }

  return {
    append(events) {
      if (events.length === 0) return undefined;
      if (queue.isIdle() && !hasRemains && !hasEnded) {
        const bytes = sequence.render(events);
        const writing = write(bytes);
        return writing === undefined ? show(bytes, events) : queue.add(() => writing.then(() => show(bytes, events)));
      }
      return queue.add(async () => {
        const { bytes } = await renderNext(() => events);
        await write(bytes);
        show(bytes, events);
      });
    },
    appendLast: (makeEvent, beforeVisible) =>
      queue.add(async () => {
        // The file's entry in its directory has been on the disk since the admission.
        const { events, bytes } = await renderNext(() => [
          makeEvent({ events: sequence.lastSeq(), digest: sequence.digest() }),
        ]);
        await write(bytes);
        await file.sync().catch(undo);
        hasEnded = true;
        beforeVisible();
        show(bytes, events);
      }),
    lastSeq: sequence.lastSeq,
    digest: sequence.digest,
    close: () =>
      queue.add(async () => {
        tail.end();
        await file.close();
      }),
  };
}

interface Queue {
  /** Runs what it is given one after the other; what fails stops nothing that comes behind it. */
  add(work: () => Promise<void>): Promise<void>;
  /** Whether all of it is done. */
  isIdle(): boolean;
}

function createQueue(): Queue {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  return {
    add(work) {
      waiting += 1;
      const done = last.then(work).finally(() => (waiting -= 1));
      // It is thrown to its caller.
      last = done.catch(() => undefined);
      return done;
    },
    isIdle: () => waiting === 0,
  };
}

/**
 * So much goes into the system's memory at once, in a tenth of the time that another thread is asked for it in. More of it
 * comes in a burst, where the other thread writes while this one goes on.
 */
const AT_ONCE_BYTES = 16_384;

/**
 * The file is open for appending, so nothing says where.
 *
 * @returns false where it is for another thread, and nothing is written
 */
function appendAtOnce(file: FileHandle, bytes: Buffer): boolean {
  if (bytes.length > AT_ONCE_BYTES) return false;
  return stateDisk.tryHere(() => {
    for (let written = 0; written < bytes.length;)
      written += writeSync(file.fd, bytes, written, bytes.length - written);
  });
}

async function appendAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += (await file.write(bytes, written, bytes.length - written)).bytesWritten;
  }
}

async function recover(file: FileHandle): Promise<SequenceStart & { readonly size: number }> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(262_144);
  let [size, count, offset] = [0, 0, 0];
  let unfinished: Buffer[] = [];
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    offset += bytesRead;
    const last = chunk.lastIndexOf(0x0a);
    if (last === -1) {
      unfinished.push(Buffer.from(chunk));
      continue;
    }
    for (const part of unfinished) hash.update(part);
    hash.update(chunk.subarray(0, last + 1));
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, at + 1)) count += 1;
    size = offset - bytesRead + last + 1;
    unfinished = [Buffer.from(chunk.subarray(last + 1))];
  }
  if (offset > size) await file.truncate(size);
  return { size, count, hash };
}
