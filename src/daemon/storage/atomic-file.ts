import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** Opens a file for new content. Fails for anything that is no file: follows no link, waits for no pipe. */
export const FRESH =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Replaces a file as a whole: a reader, or a crash at any moment, sees the old content or the new.
 *
 * Shape: resolves once the content and the directory entry are on the disk.
 * @see fsync(2), rename(2)
 */
export async function writeFileAtomic(path: string, content: string): Promise<void> {
  await replaceFileAtomic(path, content);
  await syncDirectory(dirname(path));
}

/** The same for what a power failure may take back: afterwards the file is the old one or the new one, and whole. */
export async function replaceFileAtomic(path: string, content: string): Promise<void> {
  const temporary = `${path}.new`;
  const file = await open(temporary, FRESH, 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

/** Writes a directory's entries to the disk: without it a new file may be missing after a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
