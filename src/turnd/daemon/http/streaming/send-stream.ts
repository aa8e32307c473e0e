import type { ServerResponse } from "node:http";
import { sendEventStream } from "../../../../kit/http/event-stream.ts";
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

/**
 * Sends batches of events as they come. What a slow client has not read stays in the log. Law: log first.
 *
 * Resolves when the answer has ended or the client has disconnected; the stream's place is then free.
 */
export async function sendStream(response: ServerResponse, stream: OpenStream, options: SendOptions): Promise<void> {
  const { format, headers, read, onSent, onFailure } = options;
  const { frame, ...form } = format;
  try {
    await sendEventStream<readonly LoggedLine[]>(response, stream.controller, {
      ...form,
      headers,
      read,
      write(lines) {
        const piece = frame(lines);
        const mayGoOn = writePiece(response, piece);
        onSent?.(lines);
        return piece.bytes.length === 0 ? undefined : mayGoOn;
      },
      drains: () => drainOf(response),
      onFailure,
    });
  } finally {
    stream.release();
  }
}
