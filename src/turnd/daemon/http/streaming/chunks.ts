import type { ServerResponse } from "node:http";
import { Socket } from "node:net";

/** What is sent at once: as it is, and as one chunk of HTTP. Both are the same memory, and made once for all clients. */
export interface Piece {
  readonly bytes: Buffer;
  readonly chunk: Buffer;
}

const CRLF = "\r\n";
const [CR, LF] = [0x0d, 0x0a];

/** Makes a piece of so many bytes. @param fill - writes all of them, from an offset on */
export function makePiece(sizeBytes: number, fill: (into: Buffer, from: number) => void): Piece {
  const head = sizeBytes.toString(16) + CRLF;
  const from = head.length;
  const chunk = Buffer.allocUnsafe(from + sizeBytes + CRLF.length);
  chunk.write(head, 0, "latin1");
  fill(chunk, from);
  chunk[from + sizeBytes] = CR;
  chunk[from + sizeBytes + 1] = LF;
  return { bytes: chunk.subarray(from, from + sizeBytes), chunk };
}

/**
 * Writes a piece of an answer whose headers have been sent, as one chunk and with one write.
 *
 * Node makes four pieces of a chunk and puts them together again in the system, which takes longer than everything else
 * between the log and the socket.
 * @returns false when the client is behind: wait for `drainOf` then
 */
export function writePiece(response: ServerResponse, { bytes, chunk }: Piece): boolean {
  // A chunk of nothing would end the answer.
  if (bytes.length === 0) return true;
  const connection = connectionOf(response);
  return connection === undefined ? response.write(bytes) : connection.write(chunk);
}

/** What emits `drain` when the client has read what was written. */
export function drainOf(response: ServerResponse): NodeJS.EventEmitter {
  return connectionOf(response) ?? response;
}

/**
 * Where chunks can be written. Undefined where the answer waits behind another on its connection, where its client knows
 * no chunks (HTTP/1.0), and where there is no connection, but a caller within this process.
 */
function connectionOf({ socket, chunkedEncoding }: ServerResponse): Socket | undefined {
  return chunkedEncoding && socket instanceof Socket ? socket : undefined;
}
