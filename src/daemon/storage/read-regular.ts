import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** Something else stands where a file of the state should be. */
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
 * A pipe in its place is refused and not waited for: each wait would hold one of the few threads that all files share.
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
