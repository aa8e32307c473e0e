import type { Socket } from "node:net";

/** Errors before there is a request, by Node's error code: the status and the message. */
const CLIENT_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request did not arrive in time"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "the headers are too large"],
};

/**
 * Makes a function that answers what is not HTTP, or not in time, with a problem of this code on the bare connection.
 *
 * These three answers keep HTTP's status for them, since no regular client made the request.
 */
export function createConnectionRefusal(code: string) {
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    const [status, message] = CLIENT_ERRORS[error.code ?? ""] ?? ["400 Bad Request", "this is not HTTP/1.1"];
    const body = JSON.stringify({ detail: { code, message } });
    const type = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
    socket.end(`HTTP/1.1 ${status}\r\n${type}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
  };
}
