import type { ServerResponse } from "node:http";
import { Socket } from "node:net";

/** What has been made a chunk: once for all clients that are sent the same bytes. */
const made = new WeakMap<Buffer, Buffer>();

const CRLF = "\r\n";

/**
 * Writes a piece of an answer whose headers have been sent, as one chunk and with one write.
 *
 * Node makes four pieces of a chunk and puts them together again in the system, which takes longer than everything else
 * between the log and the socket.
 * @returns false when the client is behind: wait for `drainOf` then
 */
export function writeChunk(response: ServerResponse, bytes: Buffer): boolean {
  // A chunk of nothing would end the answer.
  if (bytes.length === 0) return true;
  const connection = connectionOf(response);
  return connection === undefined ? response.write(bytes) : connection.write(chunkOf(bytes));
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

function chunkOf(bytes: Buffer): Buffer {
  const before = made.get(bytes);
  if (before !== undefined) return before;
  const head = bytes.length.toString(16) + CRLF;
  const chunk = Buffer.allocUnsafe(head.length + bytes.length + CRLF.length);
  chunk.write(head, "latin1");
  bytes.copy(chunk, head.length);
  chunk.write(CRLF, head.length + bytes.length, "latin1");
  made.set(bytes, chunk);
  return chunk;
}
