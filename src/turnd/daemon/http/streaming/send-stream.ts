import type { ServerResponse } from "node:http";
import type { LoggedLine, TakeLines } from "../../turns/turn-service.ts";
import { drainOf, writePiece } from "./chunks.ts";
import type { OpenStream } from "./open-streams.ts";
import type { Frame } from "./shared-frames.ts";

/** How a stream of events is sent. */
export interface StreamFormat {
  readonly contentType: string;
  readonly frame: Frame;
  /** Sent when nothing else was sent for `everyMs`; absent where the format has no comments. */
  readonly heartbeat?: { readonly bytes: Buffer; readonly everyMs: number };
  /** What a client gets when the stream fails; absent where the format can only break off. */
  readonly failure?: Buffer;
}

export interface SendOptions {
  readonly format: StreamFormat;
  /** What hooks have set on the answer that this function takes over. */
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>;
  /**
   * Starts reading; ends without an error when the signal aborts.
   *
   * @param atOnce - takes what is logged while the reader waits, before the iteration comes to it
   */
  readonly read: (signal: AbortSignal, atOnce: TakeLines) => AsyncIterable<readonly LoggedLine[]>;
  /** Called with every batch that was given to the connection. */
  readonly onSent?: (lines: readonly LoggedLine[]) => void;
  /** Called with an error of the reading itself, not of a broken connection. */
  readonly onFailure: (error: unknown) => void;
}

/** A client that reads nothing for so long is disconnected; it can continue with its cursor. */
const STALLED_MS = 600_000;

/**
 * Sends batches of events as they come, at the client's speed.
 *
 * What a slow client has not read stays in the log: the next batch is requested when this one has left for the socket.
 * So a client costs one batch of memory, and no other client waits for it. Law: log first.
 *
 * Resolves when the answer has ended or the client has disconnected; the stream's place is then free.
 */
export async function sendStream(response: ServerResponse, stream: OpenStream, options: SendOptions): Promise<void> {
  const { format, read, onSent, onFailure } = options;
  const { controller } = stream;
  response.once("close", () => controller.abort());
  if (response.destroyed) controller.abort();
  // A write to a broken connection reports it here too; `close` has reported it already.
  response.on("error", () => controller.abort());
  response.writeHead(200, {
    ...options.headers,
    "content-type": format.contentType,
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
  });
  response.flushHeaders();
  const heartbeat = startHeartbeat(response, format.heartbeat);
  function send(lines: readonly LoggedLine[]): Promise<void> | undefined {
    const mayGoOn = writePiece(response, format.frame(lines));
    heartbeat?.refresh();
    onSent?.(lines);
    return mayGoOn ? undefined : settled(response, drainOf(response), "drain", controller.signal);
  }
  try {
    for await (const lines of read(controller.signal, send)) {
      if (controller.signal.aborted) break;
      await send(lines);
    }
    await finish(response, controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) onFailure(error);
    if (format.failure === undefined) response.destroy();
    else response.end(format.failure);
  } finally {
    clearTimeout(heartbeat);
    stream.release();
  }
}

/**
 * Ends the answer and waits until the system has all of it: a server that closes drops what is still in the process.
 *
 * An answer that is cut because turnd stops is ended properly too, unless its client reads nothing.
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

function startHeartbeat(response: ServerResponse, heartbeat: StreamFormat["heartbeat"]): NodeJS.Timeout | undefined {
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
