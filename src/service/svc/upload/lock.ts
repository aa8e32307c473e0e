import { createServer } from "node:net";
import { EXIT, SvcError } from "../exit-codes.ts";

/** Keeps others from uploading the same at the same time, which would add files twice. */
export interface UploadLock {
  release(): Promise<void>;
}

/**
 * Takes the lock of an upload; the system releases it when the process ends, however it ends.
 *
 * @param name - of this upload; letters and digits, up to 64
 *
 * Only on Linux: elsewhere there is no socket without a file that a kill leaves behind, and no lock.
 *
 * @throws {SvcError} upload_running
 * @see unix(7), abstract sockets
 */
export async function lockUpload(name: string): Promise<UploadLock> {
  if (process.platform !== "linux") return { release: async () => undefined };
  const server = createServer((socket) => socket.destroy());
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(`\0svc-upload-${process.getuid?.() ?? 0}-${name}`, resolve);
  try {
    await listening;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    throw new SvcError("upload_running", "another svc uploads the same directory right now: wait for it, or end it", {
      exitCode: EXIT.failed,
      cause: error,
    });
  }
  // A lock is no reason to stay.
  server.unref();
  return {
    release: () => new Promise((done) => server.close(() => done())),
  };
}
