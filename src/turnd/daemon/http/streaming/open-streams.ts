import type { Duplex } from "node:stream";
import { ProblemError } from "../../../protocol/index.ts";

/** One client reading one turn's events. */
export interface OpenStream {
  /** Ends the reading: when the client has disconnected, or turnd is stopping. */
  readonly controller: AbortController;
  /** Frees its place. Safe to call twice. */
  release(): void;
}

/** The event streams open at this moment, and the requests that wait for a turn to end. */
export interface OpenStreams {
  /**
   * @param connection - what the stream will be sent on
   * @throws {ProblemError} too_many_streams
   */
  open(turnId: string, connection: Duplex): OpenStream;
  /** How many are open now. */
  count(): number;
  /** Aborts when turnd is stopping. */
  readonly closing: AbortSignal;
  /**
   * Ends all streams and waits. Streams for which `isEnding` is true have only their last events to send and get time
   * for it.
   *
   * Resolves when every place is free.
   */
  closeAll(isEnding: (turnId: string) => boolean, graceMs: number): Promise<void>;
}

/**
 * @param limit - most streams at once per entrance; requests that wait are not counted
 * @param isFromSocket - which entrance a connection used: streams on the port use none of the front's places
 */
export function createOpenStreams(limit: number, isFromSocket: (connection: Duplex) => boolean): OpenStreams {
  const streams = new Map<OpenStream, string>();
  const counts = { port: 0, socket: 0 };
  const closing = new AbortController();
  let onRelease: (() => void) | undefined;

  return {
    count: () => streams.size,
    closing: closing.signal,
    open(turnId, connection) {
      const wayIn = isFromSocket(connection) ? "socket" : "port";
      if (counts[wayIn] >= limit) {
        const message = `${limit} event streams are open, the limit of TURND_MAX_STREAMS`;
        throw new ProblemError("too_many_streams", message);
      }
      const stream: OpenStream = {
        controller: new AbortController(),
        release() {
          if (streams.delete(stream)) counts[wayIn] -= 1;
          onRelease?.();
        },
      };
      streams.set(stream, turnId);
      counts[wayIn] += 1;
      return stream;
    },
    async closeAll(isEnding, graceMs) {
      closing.abort();
      for (const [stream, turnId] of streams) if (!isEnding(turnId)) stream.controller.abort();
      const timer = setTimeout(() => {
        for (const stream of streams.keys()) stream.controller.abort();
      }, graceMs);
      await new Promise<void>((resolve) => {
        onRelease = () => {
          if (streams.size === 0) resolve();
        };
        onRelease();
      });
      clearTimeout(timer);
    },
  };
}
