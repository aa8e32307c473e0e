import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { lstat, open, rename, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";

/** flock(1) is to exit with it where another process holds the lock. */
const CONFLICT = 66;

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
 * Takes the kernel's lock on a file. The file's content names the holder.
 *
 * The lock belongs to the open file: it ends with the process, however the process ends, and a stale file means
 * nothing.
 * @throws {LockedError} if another process holds it
 * @see flock(2); Node has no call for it, so flock(1) takes it on a descriptor it inherits from us
 */
export async function holdLock(path: string, holder: string): Promise<Lock> {
  if (!(await isLockable(path))) await moveAside(path);
  const file = await open(path, "a+", 0o600);
  const { code, said } = await flock(file, ["--nonblock"]);
  if (code === 0) {
    // For the turnd that is refused: on a full disk the lock holds without it.
    await nameHolder(file, holder).catch(() => undefined);
    return { release: () => file.close() };
  }
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
  await file.close();
  if (code === CONFLICT) throw new LockedError(path, buffer.toString("utf8", 0, bytesRead));
  throw new Error(`flock failed on ${path}: ${said}`);
}

/** @returns its exit code, and what it said; a code of null where it could not be run */
async function flock({ fd }: FileHandle, options: readonly string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn("/usr/bin/flock", [...options, "--conflict-exit-code", `${CONFLICT}`, "3"], {
    stdio: ["ignore", "ignore", "pipe", fd],
  });
  let said = "";
  child.stdio[2]?.on("data", (bytes: Buffer) => (said += bytes.toString()));
  return new Promise((resolve) => {
    child.once("error", ({ message }) => resolve({ code: null, said: message }));
    child.once("close", (code) => resolve({ code, said }));
  });
}

async function nameHolder(file: FileHandle, holder: string): Promise<void> {
  await file.truncate(0);
  await file.appendFile(`${holder}\n`);
}

/** A directory, a link or a pipe locks nothing: a link may lead everyone to another file, such as /proc/self/mem. */
async function isLockable(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isFile(),
    () => true,
  );
}

/** One process at a time, so that no fresh lock is moved away. What was there is kept. */
async function moveAside(path: string): Promise<void> {
  const directory = await open(dirname(path), "r");
  try {
    const { code } = await flock(directory, ["--wait", "10"]);
    if (code !== 0) throw new LockedError(path, "a turnd that is starting");
    if (!(await isLockable(path))) await rename(path, `${path}.aside-${randomUUID()}`);
  } finally {
    await directory.close();
  }
}
