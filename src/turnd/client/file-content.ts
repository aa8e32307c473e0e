import { TurndUnreachable } from "./errors.ts";
import type { OutgoingBody } from "./transport.ts";

/**
 * What a file is written from: all of it, a file of the platform's (`File` is a `Blob`), or what comes bit by bit and is never
 * in memory as a whole.
 */
export type FileContent =
  | string
  | Uint8Array<ArrayBuffer>
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** A body that is made of a file's content. */
export interface FileBody {
  readonly bytes: OutgoingBody;
  /** What its source has failed with: of the request it shows only that it broke. */
  fault(): { readonly error: unknown } | undefined;
  /** Ends a source that was not read to its end, when it has given what it was asked for last. */
  release(): void;
}

/** @param onMove - called when a source is asked for its next piece, and when it has given it */
export function toBody(content: FileContent, onMove: () => void): FileBody {
  if (typeof content === "string" || content instanceof Uint8Array || content instanceof Blob) {
    return { bytes: content, fault: () => undefined, release: () => undefined };
  }
  const source = open(content);
  let fault: { readonly error: unknown } | undefined;
  let isOpen = true;
  async function next(): Promise<Uint8Array | undefined> {
    for (;;) {
      onMove();
      const piece = await source.next();
      onMove();
      // An empty chunk would end the stream for its reader.
      if (piece === undefined || piece.byteLength > 0) return piece;
    }
  }
  function release(): void {
    if (!isOpen) return;
    isOpen = false;
    // The result of the write is known already; a source that hangs must not delay it.
    source.end().catch(() => undefined);
  }
  const bytes = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await next();
          if (piece !== undefined) return controller.enqueue(piece);
          isOpen = false;
          controller.close();
        } catch (error) {
          isOpen = false;
          fault = { error };
          throw error;
        }
      },
      cancel: release,
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  );
  return { bytes, fault: () => fault, release };
}

interface Source {
  /** Undefined at its end. */
  next(): Promise<Uint8Array | undefined>;
  end(): Promise<unknown>;
}

/** In browsers whose streams cannot be iterated, too. */
function open(content: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>): Source {
  if ("getReader" in content) {
    const reader = content.getReader();
    return { next: async () => (await reader.read()).value, end: () => reader.cancel() };
  }
  const iterator = content[Symbol.asyncIterator]();
  return {
    async next() {
      const result = await iterator.next();
      return result.done === true ? undefined : result.value;
    },
    end: async () => iterator.return?.(),
  };
}

/** Aborts where nothing has moved for so long. */
export interface Watch {
  readonly signal: AbortSignal;
  moved(): void;
  stop(): void;
}

export function watchForStall(what: string, stallMs: number): Watch {
  const stalled = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  function moved(): void {
    clearTimeout(timer);
    const fault = new TurndUnreachable(`${what}: nothing moved for ${stallMs} ms`);
    timer = setTimeout(() => stalled.abort(fault), stallMs);
  }
  moved();
  return { signal: stalled.signal, moved, stop: () => clearTimeout(timer) };
}
