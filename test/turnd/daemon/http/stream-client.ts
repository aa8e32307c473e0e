import { once } from "node:events";
import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { createParser, type EventSourceMessage } from "eventsource-parser";

/** A client reading one stream over a real connection. */
export interface StreamClient {
  readonly response: IncomingMessage;
  /** Frames parsed so far. */
  readonly events: EventSourceMessage[];
  readonly comments: string[];
  /** Everything received, as it came. */
  bytes(): Buffer;
  /** Resolves once the check holds, after each piece that arrives; rejects when the stream ends before it does. */
  until(check: () => boolean): Promise<void>;
  /** Resolves when the answer is complete; rejects when it breaks off. */
  ended(): Promise<void>;
  /** Drops the connection. */
  drop(): void;
}

/** Opens a stream and resolves when its headers are here. */
export async function openStream(url: string, headers: Record<string, string> = {}): Promise<StreamClient> {
  const sent = send(url, { accept: "text/event-stream", ...headers });
  const [response]: IncomingMessage[] = await once(sent, "response");
  if (response === undefined) throw new Error("no response");
  const events: EventSourceMessage[] = [];
  const comments: string[] = [];
  const chunks: Buffer[] = [];
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parser = createParser({ onEvent: (event) => events.push(event), onComment: (text) => comments.push(text) });
  let wakeUps: (() => void)[] = [];
  let end: "complete" | "broken" | undefined;

  const wake = (): void => {
    const woken = wakeUps;
    wakeUps = [];
    for (const resolve of woken) resolve();
  };
  response.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    parser.feed(decoder.decode(chunk, { stream: true }));
    wake();
  });
  response.on("error", () => undefined); // `close` follows and says the same
  response.on("close", () => {
    end = response.complete ? "complete" : "broken";
    wake();
  });

  async function until(check: () => boolean): Promise<void> {
    while (!check()) {
      if (end !== undefined) throw new Error(`the stream is ${end} after ${events.length} events`);
      await new Promise<void>((resolve) => wakeUps.push(resolve));
    }
  }

  return {
    response,
    events,
    comments,
    bytes: () => Buffer.concat(chunks),
    until,
    async ended() {
      while (end === undefined) await new Promise<void>((resolve) => wakeUps.push(resolve));
      if (end === "broken") throw new Error("the stream broke off");
    },
    drop: () => sent.destroy(),
  };
}

/** Sends a GET on a connection of its own. */
export function send(url: string, headers: Record<string, string>): ClientRequest {
  const sent = request(url, { headers, agent: false });
  sent.on("error", () => undefined); // a dropped connection; what a test needs of it is seen on the response
  sent.end();
  return sent;
}
