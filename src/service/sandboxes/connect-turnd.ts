import { Readable } from "node:stream";
import { Agent, request } from "undici";
import type { OutgoingBody, Transport } from "../../turnd/client/transport.ts";
import { createTurndClient, type TurndClient, type TurndClientOptions } from "../../turnd/client/turnd-client.ts";

/**
 * Connections are kept and used again. Not Node's own `fetch`: the undici of Node 22 waits for a timer of 1 ms before each use of a
 * kept connection, and the calls of a dispatch come one after the other. Limits are the caller's signals.
 * @see https://github.com/nodejs/undici/issues/5493
 */
const connections = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** Sends over kept connections. @throws what the connection broke with, or the signal's reason */
export const sendOverHttp: Transport = async (url, { method, headers, body, signal }) => {
  const answer = await request(url, {
    method,
    headers,
    signal,
    dispatcher: connections,
    ...(body === undefined ? {} : { body: toUndici(body) }),
  });
  const { body: stream, headers: received } = answer;
  // A reader gets the fault from the stream; one that comes when there is no reader any more is dropped.
  stream.on("error", () => undefined);
  return {
    status: answer.statusCode,
    headers: {
      get(name) {
        const value = received[name];
        return Array.isArray(value) ? value.join(", ") : (value ?? null);
      },
    },
    body: stream,
    text: () => stream.text(),
  };
};

/** Its types know no stream of the web. */
function toUndici(body: OutgoingBody): string | Uint8Array | Readable {
  if (body instanceof ReadableStream) return Readable.from(body);
  return body instanceof Blob ? Readable.from(body.stream()) : body;
}

/** A client that asks once: who runs turns decides itself what is asked again, and how long. */
export function connectTurnd(options: Pick<TurndClientOptions, "baseUrl" | "token" | "transport">): TurndClient {
  return createTurndClient({ transport: sendOverHttp, ...options, retries: 0 });
}
