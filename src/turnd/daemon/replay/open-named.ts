import { constants, createReadStream, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { Socket } from "node:net";
import type { Readable } from "node:stream";

/**
 * Opens a file that an operator names.
 *
 * A named pipe that has no writer yet is waited for as a socket is. A plain open of it would hold a thread of Node's, and with
 * it the process: not even `process.exit` ends one whose thread waits.
 */
export async function openNamed(path: string): Promise<Readable> {
  if (!(await stat(path)).isFIFO()) return createReadStream(path);
  return new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false });
}
