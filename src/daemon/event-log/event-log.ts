import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import type { CliName, Native, TurnEvent } from "../../protocol/index.ts";
import type { WritableTail } from "./tail.ts";

/** An event before it has its place in the log. */
export type NewEvent = TurnEvent & { readonly native?: Native | undefined };

/** Whose events these are; the same in every line. */
export interface LogIdentity {
  readonly turnId: string;
  readonly sessionId: string;
  readonly executor: CliName;
}

export interface EventLogOptions extends LogIdentity {
  readonly path: string;
  /** ISO 8601, UTC. */
  readonly now: () => string;
  /** Advanced with every append; ended by `close`. */
  readonly tail: WritableTail;
  /** Takes secrets out of a line before it is written (law 8). */
  readonly redact: (line: string) => string;
}

/** The events of one turn, append only. One writer. */
export interface EventLog {
  /** Gives each event the next `seq` and writes them all with one call, before any reader sees them (law 2). */
  append(events: readonly NewEvent[]): Promise<void>;
  /** Forces what was appended, and the entry of the file itself, to the disk. */
  sync(): Promise<void>;
  lastSeq(): number;
  /** Hex SHA-256 over every byte so far. */
  digest(): string;
  /** Readers are told that nothing more will come. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Opens a turn's log for appending, whole lines kept and a torn last line cut off.
 *
 * @throws the system's error when the file cannot be opened, read or cut
 */
export async function openEventLog(options: EventLogOptions): Promise<EventLog> {
  const file = await open(options.path, "a+", 0o600);
  const hash = createHash("sha256");
  let { size, count } = await recover(file, hash);
  options.tail.advance(size, count);

  async function append(events: readonly NewEvent[]): Promise<void> {
    if (events.length === 0) return;
    const at = options.now();
    const lines = events.map((event, index) => `${options.redact(render(event, count + index + 1, at, options))}\n`);
    const bytes = Buffer.from(lines.join(""));
    await writeWhole(file, bytes, size);
    hash.update(bytes);
    size += bytes.length;
    count += events.length;
    options.tail.advance(size, count);
  }

  return {
    append,
    sync: () => file.sync(),
    lastSeq: () => count,
    digest: () => hash.copy().digest("hex"),
    async close() {
      options.tail.end();
      await file.close();
    },
  };
}

function render(event: NewEvent, seq: number, at: string, { turnId, sessionId, executor }: LogIdentity): string {
  const { type, native, data } = event;
  return JSON.stringify({ v: 1, seq, at, turn_id: turnId, session_id: sessionId, executor, type, native, data });
}

/** A write that fails half-way leaves no torn line for the next one to continue. */
async function writeWhole(file: FileHandle, bytes: Buffer, size: number): Promise<void> {
  try {
    await file.appendFile(bytes);
  } catch (error) {
    await file.truncate(size);
    throw error;
  }
}

async function recover(
  file: FileHandle,
  hash: ReturnType<typeof createHash>,
): Promise<{ size: number; count: number }> {
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
  return { size, count };
}
