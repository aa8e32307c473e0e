import { closeSync, constants, fsync, open, openSync, rename, renameSync, writeFile, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { stateDisk } from "./disk-pace.ts";

// What changes only a directory is done at once while the disk is quick: it takes some ten microseconds, and another
// thread as long again to be asked. What waits for the disk in any case is another thread's.
const sync = promisify(fsync);
const write = promisify(writeFile);
const openThere = promisify(open);
/** More than that takes longer than another thread does. */
const AT_ONCE_BYTES = 65_536;

/** Opens a file for new content. Fails for anything that is no file: follows no link, waits for no pipe. */
export const FRESH =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Replaces a file as a whole: a reader, or a crash at any moment, sees the old content or the new.
 *
 * Resolves once the content and the directory entry are on the disk.
 * @see fsync(2), rename(2)
 */
export async function writeFileAtomic(path: string, content: string): Promise<void> {
  await replaceFileAtomic(path, content);
  await syncDirectory(dirname(path));
}

/** The same for what a power failure may take back: afterwards the file is the old one or the new one, and whole. */
export async function replaceFileAtomic(path: string, content: string): Promise<void> {
  await putInPlace(await writeBeside(path, content));
}

/** New content of a file, on the disk beside it. */
export interface Replacement {
  readonly path: string;
  readonly temporary: string;
}

/** The first half of a replacement: nobody sees the new content yet. */
export async function writeBeside(path: string, content: string): Promise<Replacement> {
  const temporary = `${path}.new`;
  await writeSynced(temporary, content, FRESH);
  return { path, temporary };
}

/** The second half: from now on the file is the new one. */
export async function putInPlace({ path, temporary }: Replacement): Promise<void> {
  await stateDisk.step(
    () => renameSync(temporary, path),
    () => promisify(rename)(temporary, path),
  );
}

/** Writes a file of which the content is on the disk when it resolves; its directory is not synced. */
export async function writeSynced(path: string, content: string | Buffer, flags: string | number = "w"): Promise<void> {
  const file = await openFile(path, flags);
  try {
    const there = (): Promise<void> => write(file, content);
    if (content.length <= AT_ONCE_BYTES) await stateDisk.step(() => writeFileSync(file, content), there);
    else await there();
    await sync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes a file that has nothing in it yet; the sync of its directory puts it on the disk. */
export async function writeEmpty(path: string): Promise<void> {
  closeSync(await openFile(path, "w"));
}

/** Writes a directory's entries to the disk: without it a new file may be missing after a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await openFile(path, "r");
  try {
    await sync(directory);
  } finally {
    closeSync(directory);
  }
}

async function openFile(path: string, flags: string | number): Promise<number> {
  return stateDisk.step(
    () => openSync(path, flags, 0o600),
    () => openThere(path, flags, 0o600),
  );
}
