import type { ServerResponse } from "node:http";

/** How a stream of events is sent, and where its events come from. */
export interface EventStream<Batch> {
  readonly contentType: string;
  /** What hooks have set on the answer that is taken over. */
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>;
  /** Sent before anything else. */
  readonly opening?: string;
  /** Sent when nothing else was sent for `everyMs`; absent where the format has no comments. */
  readonly heartbeat?: { readonly bytes: Buffer | string; readonly everyMs: number };
  /** What a client gets when the reading fails; absent where the connection is to break off. */
  readonly failure?: Buffer;
  /**
   * Starts reading; ends without an error when the signal aborts.
   *
   * @param atOnce - sends what comes while the reader waits, before the iteration comes to it; resolves when the client has it
   */
  read(signal: AbortSignal, atOnce: (batch: Batch) => Promise<void> | undefined): AsyncIterable<Batch>;
  /** Writes a batch. @returns false when the client is behind, undefined when nothing of it is for this client */
  write(batch: Batch): boolean | undefined;
  /** What emits `drain` when the client has read what was written; the response itself where absent. */
  drains?(): NodeJS.EventEmitter;
  /** Called with an error of the reading itself, not of a broken connection. */
  onFailure(error: unknown): void;
}

/** A client that reads nothing for so long is disconnected; it can continue with its cursor. */
const STALLED_MS = 600_000;

/**
 * Sends batches of events as they come, at the client's speed: the next batch is requested when this one has left for the
 * socket. So a client costs one batch of memory, and no other client waits for it.
 *
 * Resolves when the answer has ended or the client has disconnected.
 *
 * @param controller - aborts when the client has disconnected; whoever has it can end the stream
 */
export async function sendEventStream<Batch>(
  response: ServerResponse,
  controller: AbortController,
  stream: EventStream<Batch>,
): Promise<void> {
  const { signal } = controller;
  response.once("close", () => controller.abort());
  if (response.destroyed) controller.abort();
  // A write to a broken connection reports it here too; `close` has reported it already.
  response.on("error", () => controller.abort());
  response.writeHead(200, {
    ...stream.headers,
    "content-type": stream.contentType,
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
  });
  response.flushHeaders();
  if (stream.opening !== undefined) response.write(stream.opening);
  const heartbeat = startHeartbeat(response, stream.heartbeat);
  function send(batch: Batch): Promise<void> | undefined {
    const mayGoOn = stream.write(batch);
    // Where nothing was sent, proxies still want a sign of life.
    if (mayGoOn !== undefined) heartbeat?.refresh();
    return mayGoOn !== false ? undefined : settled(response, stream.drains?.() ?? response, "drain", signal);
  }
  try {
    for await (const batch of stream.read(signal, send)) {
      if (signal.aborted) break;
      await send(batch);
    }
    await finish(response, signal);
  } catch (error) {
    if (!signal.aborted) stream.onFailure(error);
    if (stream.failure === undefined) response.destroy();
    else response.end(stream.failure);
  } finally {
    clearTimeout(heartbeat);
  }
}

/**
 * Ends the answer and waits until the system has all of it: a server that closes drops what is still in the process.
 *
 * An answer that is cut because the server stops is ended properly too, unless its client reads nothing.
 */
async function finish(response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) {
    response.end();
    if (!response.writableFinished) await settled(response, response, "finish", signal);
    if (!response.writableFinished) response.destroy();
  } else if (response.writableLength === 0) {
    response.end();
  } else {
    response.destroy();
  }
}

function startHeartbeat(
  response: ServerResponse,
  heartbeat: EventStream<unknown>["heartbeat"],
): NodeJS.Timeout | undefined {
  if (heartbeat === undefined) return undefined;
  const timer = setTimeout(() => {
    // A client that has not read what was sent needs no heartbeat.
    if (response.writableLength === 0 && !response.writableEnded) response.write(heartbeat.bytes);
    timer.refresh();
  }, heartbeat.everyMs);
  return timer;
}

/**
 * Resolves at the event, which means that the client has read what was written; when it has disconnected; or at an
 * abort.
 */
function settled(
  response: ServerResponse,
  emitter: NodeJS.EventEmitter,
  event: "drain" | "finish",
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), STALLED_MS);
    const done = (): void => {
      clearTimeout(timer);
      emitter.off(event, done);
      response.off("close", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    emitter.on(event, done);
    response.on("close", done);
    signal.addEventListener("abort", done);
  });
}
