import { spawnSync } from "node:child_process";
import { open } from "node:fs/promises";

/** Held for as long as the process lives, or until it is released. */
export interface Lock {
  release(): Promise<void>;
}

/** Another process holds the lock. */
export class LockedError extends Error {
  constructor(path: string, holder: string) {
    super(`${path} is held by another turnd: ${holder.trim() || "unknown"}`);
    this.name = "LockedError";
  }
}

/**
 * Takes the kernel's lock on a file, which names its holder.
 *
 * The lock belongs to the open file: it ends with the process, however that dies, and a stale file means nothing.
 * @throws {LockedError} if another process holds it
 * @see flock(2); Node has no call for it, so flock(1) takes it on a descriptor it inherits from us
 */
export async function holdLock(path: string, holder: string): Promise<Lock> {
  const file = await open(path, "a+", 0o600);
  const result = spawnSync("/usr/bin/flock", ["--nonblock", "--conflict-exit-code", "66", "3"], {
    stdio: ["ignore", "ignore", "pipe", file.fd],
    encoding: "utf8",
  });
  if (result.status === 0) {
    await file.truncate(0);
    await file.appendFile(`${holder}\n`);
    return { release: () => file.close() };
  }
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
  await file.close();
  if (result.status === 66) throw new LockedError(path, buffer.toString("utf8", 0, bytesRead));
  throw new Error(`flock failed on ${path}: ${result.error?.message ?? result.stderr}`);
}
