/** A request as it goes out. */
export interface Outgoing {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal;
}

/** An answer whose body is still to be read; a `Response` of `fetch` is one. */
export interface Incoming {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

/**
 * Sends a request and resolves with the head of its answer.
 *
 * The signal ends both the request and the reading of the answer. Redirects are not followed.
 */
export type Transport = (url: string, outgoing: Outgoing) => Promise<Incoming>;

/**
 * Sends by the platform's `fetch`.
 *
 * @param credentials - when a browser sends its cookies; absent: to the page's own origin
 */
export function createFetchTransport(credentials?: "omit" | "same-origin" | "include"): Transport {
  return (url, { method, headers, body, signal }) =>
    fetch(url, {
      method,
      headers,
      signal,
      // A redirect would turn a POST into a GET, and take the token elsewhere.
      redirect: "error",
      ...(credentials === undefined ? {} : { credentials }),
      ...(body === undefined ? {} : { body }),
    });
}

/** The chunks of a body, in browsers whose streams cannot be iterated too. Ending the iteration early cancels the body. */
export async function* chunksOf(body: Incoming["body"]): AsyncGenerator<Uint8Array, undefined> {
  if (body === null) return undefined;
  if (!("getReader" in body)) {
    yield* body;
    return undefined;
  }
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      yield value;
    }
  } finally {
    // Of a body that has ended or failed nothing is left to cancel.
    await reader.cancel().catch(() => undefined);
  }
}
