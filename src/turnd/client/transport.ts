/** What a request carries. */
export type OutgoingBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** A request as it goes out. */
export interface Outgoing {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is read as it is sent; one that is not read to its end is cancelled. */
  readonly body?: OutgoingBody | undefined;
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
  return async (url, { method, headers, body, signal }) => {
    const answer = await fetch(url, {
      method,
      headers,
      signal,
      // A redirect would turn a POST into a GET, and take the token elsewhere.
      redirect: "error",
      ...(credentials === undefined ? {} : { credentials }),
      ...(body === undefined ? {} : { body }),
      // The only way that a stream can be sent: the answer is not read before it has gone.
      ...(body instanceof ReadableStream ? { duplex: "half" as const } : {}),
    });
    return answer.body === null ? answer : new Response(endWith(answer.body, signal), answer);
  };
}

/**
 * A body whose reading the signal ends.
 *
 * In the `fetch` of Node 22 the signal reaches the body through the request, which nothing holds any more once the answer is
 * there: after the next garbage collection an abort would end nothing, and who reads would wait for ever.
 */
function endWith(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let stop = (): void => undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const abort = (): void => {
          controller.error(signal.reason);
          // Closes the connection; what has failed already has none.
          reader.cancel(signal.reason).catch(() => undefined);
        };
        stop = () => signal.removeEventListener("abort", abort);
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (signal.aborted) return;
          if (!done) return controller.enqueue(value);
          stop();
          controller.close();
        } catch (error) {
          stop();
          throw error;
        }
      },
      cancel(reason) {
        stop();
        return reader.cancel(reason);
      },
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  );
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
