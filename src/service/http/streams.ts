import type { ServerResponse } from "node:http";
import { sendEventStream } from "../../kit/http/event-stream.ts";
import { createShares } from "../protocol/shares.ts";

/** One frame of an event stream. */
export interface Frame {
  readonly id: string | number;
  readonly event: string;
  readonly data: unknown;
}

/** What a stream sends, and for how long. */
export interface StreamSource {
  /** The user in whose share of the streams it counts. */
  readonly userId: number;
  /** The next batch is requested when the client has read the last one. */
  read(signal: AbortSignal): AsyncIterable<readonly Frame[]>;
  /** Whether the caller may still read; checked every `checkMs`. An error of the check closes nothing. */
  isAllowed(): Promise<boolean>;
}

/** The event streams that are open in this process. */
export interface Streams {
  /**
   * Sends frames as they come, at the client's speed: what it has not read is not requested yet. Takes the connection over.
   *
   * Resolves when the stream has ended or the client has disconnected. A fault closes only the connection, and says nothing
   * of the run. Law: error means over.
   * @throws {ApiProblem} too_many_streams, at once and before anything is sent
   */
  open(
    response: ServerResponse,
    headers: Readonly<Record<string, string | string[]>>,
    source: StreamSource,
  ): Promise<void>;
  count(): number;
  /** Closes all of them. */
  close(): Promise<void>;
}

export interface StreamsOptions {
  readonly most: number;
  readonly mostOfOne: number;
  readonly heartbeatMs: number;
  /** Interval of the checks whether callers may still read. */
  readonly checkMs: number;
  /** Longest connection; the client comes back. */
  readonly maxMs: number;
  readonly onFault: (error: unknown) => void;
}

/** How soon a client's browser comes back by itself. */
const RETRY_MS = 1_000;

export function createStreams({ most, mostOfOne, heartbeatMs, checkMs, maxMs, onFault }: StreamsOptions): Streams {
  const open = new Map<AbortController, Promise<void>>();
  const shares = createShares({ most, mostOfOne, code: "too_many_streams", what: "event streams" });

  async function send(
    response: ServerResponse,
    headers: Readonly<Record<string, string | string[]>>,
    controller: AbortController,
    source: StreamSource,
  ): Promise<void> {
    const check = setInterval(() => {
      source.isAllowed().then((isAllowed) => (isAllowed ? undefined : controller.abort()), onFault);
    }, checkMs);
    const limit = setTimeout(() => controller.abort(), maxMs);
    try {
      await sendEventStream<readonly Frame[]>(response, controller, {
        contentType: "text/event-stream; charset=utf-8",
        headers,
        opening: `retry: ${RETRY_MS}\n\n`,
        heartbeat: { bytes: ": heartbeat\n\n", everyMs: heartbeatMs },
        read: (signal) => source.read(signal),
        write: (frames) => response.write(frames.map(frameText).join("")),
        onFailure: onFault,
      });
    } finally {
      clearInterval(check);
      clearTimeout(limit);
    }
  }

  return {
    // Not async: a refusal is thrown before the caller gives the connection away.
    open(response, headers, source) {
      const end = shares.take(source.userId);
      const controller = new AbortController();
      const sending = send(response, headers, controller, source).finally(() => {
        open.delete(controller);
        end();
      });
      open.set(controller, sending);
      return sending;
    },
    count: () => open.size,
    async close() {
      const all = [...open];
      for (const [controller] of all) controller.abort();
      await Promise.all(all.map(([, sending]) => sending));
    },
  };
}

/** A frame that goes to many streams is written down once. */
const texts = new WeakMap<Frame, string>();

function frameText(frame: Frame): string {
  const known = texts.get(frame);
  if (known !== undefined) return known;
  const text = `id: ${frame.id}\nevent: ${frame.event}\ndata: ${JSON.stringify(frame.data)}\n\n`;
  texts.set(frame, text);
  return text;
}
