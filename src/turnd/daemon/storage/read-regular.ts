import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** Something that is no regular file is in place of a file of the state. */
export class NotRegularError extends Error {
  readonly code = "ENOTREG";
  constructor(path: string) {
    super(`ENOTREG: not a regular file, '${path}'`);
    this.name = "NotRegularError";
  }
}

/**
 * Reads a file of the state as a whole.
 *
 * A pipe in its place is refused instead of awaited: each wait would block one of the few threads that all files share.
 * @throws {NotRegularError} or the system's error
 */
export async function readRegular(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new NotRegularError(path);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
