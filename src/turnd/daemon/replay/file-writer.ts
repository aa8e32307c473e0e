import { open } from "node:fs/promises";

/** Writes a new file in order. */
export interface FileWriter {
  /** Resolves when more can be written. */
  write(bytes: Buffer): Promise<void>;
  /** Writes the rest and closes the file. Safe to call after an error. */
  close(): Promise<void>;
}

/** A write for each small line would cost more than everything else. */
const BUFFER_BYTES = 65_536;

/** Makes a file that does not exist yet, mode 0600. */
export async function openWriter(path: string): Promise<FileWriter> {
  const file = await open(path, "wx", 0o600);
  let waiting: Buffer[] = [];
  let waitingBytes = 0;

  async function flush(): Promise<void> {
    const bytes = Buffer.concat(waiting);
    [waiting, waitingBytes] = [[], 0];
    await file.appendFile(bytes);
  }

  return {
    async write(bytes) {
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= BUFFER_BYTES) await flush();
    },
    async close() {
      try {
        await flush();
      } finally {
        await file.close();
      }
    },
  };
}
