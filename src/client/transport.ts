import { Agent, request, type Dispatcher } from "undici";

/** A request as it goes out. */
export interface Outgoing {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** An answer whose body is still to be read, or dumped. */
export type Incoming = Pick<Dispatcher.ResponseData, "statusCode" | "body">;

/** Sends a request and resolves with the answer's head. */
export type Transport = (url: string, outgoing: Outgoing) => Promise<Incoming>;

/**
 * Connections are kept and used again. Not Node's own `fetch`: the undici of Node 22 waits for a timer of 1 ms before each use of a
 * kept connection, and the calls of a dispatch come one after the other. Limits are the caller's signals.
 * @see https://github.com/nodejs/undici/issues/5493
 */
const connections = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** Sends it over HTTP. @throws what the connection broke with, or the signal's reason */
export const sendOverHttp: Transport = async (url, { method, headers, body, signal }) => {
  const { statusCode, body: stream } = await request(url, {
    method,
    headers,
    signal,
    dispatcher: connections,
    ...(body === undefined ? {} : { body }),
  });
  // Who reads gets the fault from what it reads by; one that comes when nobody reads any more is nobody's.
  stream.on("error", () => undefined);
  return { statusCode, body: stream };
};
