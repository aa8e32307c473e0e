import { open } from "node:fs/promises";

/** Writes a new file in order. */
export interface FileWriter {
  /** Resolves when more may come. */
  write(bytes: Buffer): Promise<void>;
  /** Writes what is left and closes the file. Safe to call after a fault. */
  close(): Promise<void>;
}

/** A write for each small line would cost more than all else. */
const BUFFER_BYTES = 65_536;

/** Makes a file that was not there, mode 0600. */
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
