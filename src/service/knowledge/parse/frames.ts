import { writeSync } from "node:fs";

/** What the child sends: a message of JSON, or a piece of the Markdown. */
export type Frame =
  | { readonly kind: "message"; readonly json: string }
  | { readonly kind: "markdown"; readonly bytes: Buffer };

const HEADER_BYTES = 5;
const MESSAGE = 1;
const MARKDOWN = 2;
/** Largest frame, by either kind; what declares a larger size is no frame of ours. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Writes frames to a blocking descriptor: a reader that is slow holds the child up, and nothing is buffered. */
export function createFrameWriter(descriptor: number): {
  message(value: unknown): void;
  markdown(bytes: Uint8Array): void;
} {
  const write = (kind: number, payload: Uint8Array): void => {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32BE(payload.length);
    header[4] = kind;
    for (const part of [header, payload]) {
      for (let at = 0; at < part.length;) at += writeSync(descriptor, part, at);
    }
  };
  return {
    message: (value) => write(MESSAGE, Buffer.from(JSON.stringify(value))),
    markdown: (bytes) => write(MARKDOWN, bytes),
  };
}

/** The child wrote what is no frame. */
export class BadFrame extends Error {}

/**
 * Reads frames from the pipe of a child, one when it is asked for.
 *
 * Returns undefined at the pipe's end. Holds at most one frame and one read. @throws {BadFrame}
 */
export function createFrameReader(source: AsyncIterable<Buffer>): () => Promise<Frame | undefined> {
  const reads = source[Symbol.asyncIterator]();
  let parts: Buffer[] = [];
  let held = 0;

  async function take(bytes: number): Promise<Buffer | undefined> {
    while (held < bytes) {
      const read = await reads.next();
      if (read.done === true) return undefined;
      parts.push(read.value);
      held += read.value.length;
    }
    const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    parts = [all.subarray(bytes)];
    held -= bytes;
    return all.subarray(0, bytes);
  }

  return async () => {
    const header = await take(HEADER_BYTES);
    if (header === undefined) return undefined;
    const length = header.readUInt32BE();
    if (length > MAX_BYTES) throw new BadFrame(`a frame of ${length} bytes`);
    const payload = await take(length);
    if (payload === undefined) return undefined;
    if (header[4] === MESSAGE) return { kind: "message", json: payload.toString() };
    if (header[4] === MARKDOWN) return { kind: "markdown", bytes: payload };
    throw new BadFrame(`a frame of the unknown kind ${header[4]}`);
  };
}
