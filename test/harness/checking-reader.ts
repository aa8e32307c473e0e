import { createHash } from "node:crypto";
import { get, type IncomingMessage } from "node:http";

export interface ReaderOptions {
  /** Where the turn's events are; asked before every connection, since a restarted daemon listens elsewhere. */
  readonly url: () => string | Promise<string>;
  /** After how many frames of a connection the client leaves and comes back; absent: never. */
  readonly breakAfter?: () => number;
  /** The first connection is not read before this. */
  readonly stalledUntil?: Promise<void>;
  /** A connection that cannot be made or breaks is made again, as when a daemon is killed. */
  readonly survivesBreaks?: boolean;
  readonly signal: AbortSignal;
}

/** What a reader proved that got to the end. */
export interface CheckedStream {
  /** `seq` of `turn.ended`; all before it came once and in order. */
  readonly lastSeq: number;
  /** SHA-256 over all of them, equal to that of `turn.ended`. */
  readonly digest: string;
  readonly connections: number;
}

/**
 * Reads a turn's events over SSE to the end, across as many connections as it takes, and checks every one of them.
 *
 * @throws if `seq` has a gap or a repeat, or the digest is another
 */
export async function readChecked(options: ReaderOptions): Promise<CheckedStream> {
  const hash = createHash("sha256");
  let [lastSeq, connections] = [0, 0];
  let digest: string | undefined;

  function take(frame: string): void {
    const [, id, event, data = ""] = /^id: (\d+)\nevent: (\S+)\ndata: (.*)$/.exec(frame) ?? [];
    if (id === undefined) {
      if (frame !== ":") throw new Error(`no event: ${frame.slice(0, 200)}`);
      return;
    }
    if (Number(id) !== lastSeq + 1) throw new Error(`seq ${id} came after ${lastSeq}`);
    lastSeq = Number(id);
    if (event !== "end") {
      hash.update(`${data}\n`);
      return;
    }
    digest = hash.digest("hex");
    if (!data.includes(`"digest":"${digest}"`)) throw new Error(`another digest than ${digest}: ${data.slice(-300)}`);
  }

  while (digest === undefined) {
    options.signal.throwIfAborted();
    const url = await options.url();
    let response: IncomingMessage;
    try {
      response = await open(url, lastSeq, options.signal);
      connections += 1;
    } catch (error) {
      if (options.survivesBreaks !== true) throw error;
      continue;
    }
    if (response.statusCode !== 200) throw new Error(`${url} after ${lastSeq}: ${response.statusCode}`);
    if (connections === 1) await options.stalledUntil;
    const frames = readFrames(response, options.survivesBreaks === true);
    let left = options.breakAfter?.() ?? Infinity;
    for await (const frame of frames) {
      take(frame);
      left -= 1;
      if (left <= 0) break;
    }
  }
  return { lastSeq, digest, connections };
}

function open(url: string, afterSeq: number, signal: AbortSignal): Promise<IncomingMessage> {
  const headers = { accept: "text/event-stream", ...(afterSeq === 0 ? {} : { "last-event-id": String(afterSeq) }) };
  return new Promise((resolve, reject) => {
    get(url, { headers, agent: false, signal }, resolve).on("error", reject);
  });
}

/** Whole frames; leaving early closes the connection. */
async function* readFrames(response: IncomingMessage, survivesBreaks: boolean): AsyncGenerator<string> {
  let rest = "";
  response.setEncoding("utf8");
  try {
    for await (const chunk of response) {
      const frames = (rest + String(chunk)).split("\n\n");
      rest = frames.pop() ?? "";
      yield* frames;
    }
  } catch (error) {
    if (!survivesBreaks) throw error;
  }
}
