import { readFile, stat } from "node:fs/promises";

/** A file with keys that others could read or have written. */
export class PrivateFileError extends Error {}

/**
 * Reads a file that may hold keys; undefined where there is none.
 *
 * @throws {PrivateFileError} where it belongs to another user, or others may read it
 */
export async function readPrivateFile(file: string): Promise<string | undefined> {
  try {
    const { mode, uid } = await stat(file);
    const isForeign = process.getuid !== undefined && uid !== process.getuid();
    if (isForeign || (mode & 0o077) !== 0) {
      const why = isForeign ? "belongs to another user" : `may be read by others: chmod 600 ${file}`;
      throw new PrivateFileError(`${file} holds keys and ${why}`);
    }
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
