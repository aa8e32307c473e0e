import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** The first bytes of a file that others may be writing, at most so many. */
export async function readHead(path: string, maxBytes: number): Promise<Buffer> {
  return readRange(path, () => 0, maxBytes);
}

/** The last bytes of a file that others may be writing, at most so many. */
export async function readTail(path: string, maxBytes: number): Promise<Buffer> {
  return readRange(path, (size) => Math.max(0, size - maxBytes), maxBytes);
}

async function readRange(path: string, startOf: (size: number) => number, maxBytes: number): Promise<Buffer> {
  // A pipe in its place is empty; there is no wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    const start = startOf(size);
    const buffer = Buffer.alloc(Math.min(maxBytes, size - start));
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = (await file.read(buffer, length, buffer.length - length, start + length)).bytesRead;
    }
    return buffer.subarray(0, length);
  } finally {
    await file.close();
  }
}
