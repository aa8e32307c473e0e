import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** What a server is asked through. */
export interface Channel {
  /**
   * Writes all of a text, behind what was written before.
   *
   * @throws {ChannelError} where the server does not read, or is gone
   */
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

/** The server cannot be asked any more. */
export class ChannelError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ChannelError";
  }
}

/** While the pipe is full. */
const RETRY_MS = 2;

/**
 * Opens the named pipe that a server reads.
 *
 * @param limitMs - the longest that one text may take: a server that does not read is of no use (law: every wait is bounded)
 * @throws {ChannelError} where nobody reads it
 */
export async function openChannel(path: string, limitMs: number): Promise<Channel> {
  const file = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw new ChannelError("the server's stdin cannot be opened", { cause: error });
  });
  let last: Promise<void> = Promise.resolve();

  async function writeAll(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const deadline = Date.now() + limitMs;
    for (let at = 0; at < bytes.length;) {
      const count = await tryWrite(bytes.subarray(at));
      at += count;
      if (count > 0) continue;
      if (Date.now() > deadline) throw new ChannelError("the server does not read what it is asked");
      await delay(RETRY_MS);
    }
  }

  async function tryWrite(bytes: Buffer): Promise<number> {
    try {
      return (await file.write(bytes)).bytesWritten;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
      throw new ChannelError("the server is gone", { cause: error });
    }
  }

  return {
    write(text) {
      const written = last.then(() => writeAll(text));
      last = written.catch(() => undefined);
      return written;
    },
    async close() {
      await last;
      await file.close();
    },
  };
}
