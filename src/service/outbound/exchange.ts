import { isIPv6, type LookupFunction } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { Agent, ProxyAgent, request, type Dispatcher } from "undici";
import { defined } from "../../kit/defined.ts";
import { OutboundRefused } from "./errors.ts";

/** What is sent, once, without following anything. */
export interface Exchange {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  /** The body after decoding; undefined: it is not read. */
  readonly maxBytes: number | undefined;
  /** The checked addresses: the only ones that are dialled. */
  readonly addresses: readonly string[];
  /** Dials instead of us. */
  readonly proxy: URL | undefined;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const MAX_HEADER_BYTES = 16_384;

/** Sends one request on a connection of its own. A redirect's body is not read. */
export async function exchange(options: Exchange): Promise<HttpAnswer> {
  const { url, method, headers, body, maxBytes, signal } = options;
  const dispatcher = createDispatcher(options);
  try {
    const answer = await request(url, {
      method,
      headers: { "user-agent": "svc", "accept-encoding": "identity", ...headers },
      ...defined({ body }),
      dispatcher,
      signal,
    });
    const plain = flatten(answer.headers);
    const isRead = maxBytes !== undefined && answer.statusCode < 300;
    const read = isRead ? await readBody(answer.body, plain["content-encoding"], maxBytes, signal) : Buffer.alloc(0);
    return { status: answer.statusCode, headers: plain, body: read };
  } finally {
    // The rest of the answer is not needed, and the connection has no other user.
    await dispatcher.destroy();
  }
}

function createDispatcher({ addresses, proxy }: Exchange): Dispatcher {
  const common = { maxHeaderSize: MAX_HEADER_BYTES, pipelining: 0 };
  if (proxy !== undefined) return new ProxyAgent({ uri: proxy.href, ...common });
  return new Agent({ ...common, connect: { lookup: answerOnly(addresses) } });
}

/** A lookup of these addresses only, without a query: what was checked is what is dialled (no rebinding). */
function answerOnly(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, options, callback) => {
    const wanted = options.family === 4 || options.family === 6 ? options.family : undefined;
    const fitting = known.filter(({ family }) => wanted === undefined || family === wanted);
    const [first] = fitting;
    if (first === undefined) callback(new Error("no checked address of this family"), "", 0);
    else if (options.all === true) callback(null, fitting);
    else callback(null, first.address, first.family);
  };
}

async function readBody(
  body: Readable,
  encoding: string | undefined,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let refusal: OutboundRefused | undefined;
  const count = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) {
        refusal = new OutboundRefused("too_large", `the answer is larger than ${maxBytes} bytes`);
        throw refusal;
      }
      chunks.push(chunk);
    }
  };
  const decoder = decoderOf(encoding);
  try {
    await (decoder === undefined ? pipeline(body, count, { signal }) : pipeline(body, decoder, count, { signal }));
  } catch (error) {
    // The pipeline may report the stream that it ended instead of what it was ended for.
    throw refusal ?? error;
  }
  return Buffer.concat(chunks);
}

/** Servers may encode although they were asked not to. */
function decoderOf(encoding = "identity"): Transform | undefined {
  switch (encoding.trim().toLowerCase()) {
    case "identity":
    case "":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new OutboundRefused("malformed", "the answer is encoded in a way that is not read here");
  }
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );
}
