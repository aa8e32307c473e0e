import { addressInHost, isPublicAddress } from "./address.ts";
import { explainFault, OutboundFailed, OutboundRefused } from "./errors.ts";
import { exchange, type HttpAnswer, type Exchange } from "./exchange.ts";
import { createResolve } from "./resolve.ts";

export interface OutboundOptions {
  /** Exact hosts (`host` or `host:port`) that may be reached although their address is not public. */
  readonly allow: readonly string[];
  /** Name servers, `address:port`; none: as the system resolves. */
  readonly nameServers: readonly string[];
  /** An egress proxy that resolves and dials by itself. */
  readonly proxy?: URL | undefined;
}

export interface OutboundRequest {
  readonly url: string;
  readonly method?: "GET" | "POST";
  /** Sent to the first host only: a redirect elsewhere never gets them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For all of it: names, connections, redirects, body. */
  readonly timeoutMs: number;
  /** Of the body after decoding; absent: the body is not read. */
  readonly maxBytes?: number;
  /** Most redirects that are followed; 0: a redirect is the answer. A POST follows none. */
  readonly maxRedirects?: number;
  /** A further rule of the caller's, for every hop. @throws {OutboundRefused} */
  readonly check?: (url: URL) => void;
  readonly signal?: AbortSignal;
}

/** What came back, and from where after the redirects. */
export interface OutboundAnswer extends HttpAnswer {
  readonly url: string;
}

/** Asks addresses that users give, and none that is not public. */
export interface Outbound {
  /**
   * @throws {OutboundRefused} where a rule forbids it, at any hop
   * @throws {OutboundFailed} where no answer came
   */
  fetch(request: OutboundRequest): Promise<OutboundAnswer>;
  /** What can be checked of an address without a query. @throws {OutboundRefused} */
  assertAcceptable(url: string): void;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export function createOutbound(options: OutboundOptions): Outbound {
  const allowed = new Set(options.allow.map((host) => host.toLowerCase()));
  const resolve = createResolve(options.nameServers);

  const isAllowed = (url: URL): boolean => allowed.has(url.hostname) || allowed.has(`${url.hostname}:${portOf(url)}`);

  function parse(text: string): URL {
    const url = URL.parse(text);
    if (url === null) throw new OutboundRefused("malformed", "not a URL");
    if (url.protocol !== "http:" && url.protocol !== "https:")
      throw new OutboundRefused("scheme", "only http and https are asked");
    if (url.username !== "" || url.password !== "")
      throw new OutboundRefused("user_info", "a URL must not name a user or password");
    // With a dot at its end a name is the same name; with more it is none, and a proxy may read it as the same all the same.
    const name = url.hostname.replace(/\.+$/, "");
    const literal = addressInHost(name);
    const isLocal = name === "localhost" || name.endsWith(".localhost");
    if (!isAllowed(url) && (isLocal || (literal !== undefined && !isPublicAddress(literal)))) throw notPublic();
    return url;
  }

  /** The addresses to dial: all checked, since any of them might be chosen. Empty: the proxy dials. */
  async function addressesOf(url: URL, signal: AbortSignal): Promise<string[]> {
    const literal = addressInHost(url.hostname);
    if (literal !== undefined) return [literal];
    const addresses = await resolve(url.hostname, signal).catch((error: unknown) => {
      // A name that only the proxy resolves: it is the one that connects.
      if (options.proxy !== undefined && error instanceof OutboundFailed && error.reason === "dns") return [];
      throw error;
    });
    if (!isAllowed(url) && !addresses.every((address) => isPublicAddress(address))) throw notPublic();
    return addresses;
  }

  async function visit(one: Omit<Exchange, "addresses">): Promise<HttpAnswer> {
    try {
      return await exchange({ ...one, addresses: await addressesOf(one.url, one.signal) });
    } catch (error) {
      throw explainFault(error, one.signal);
    }
  }

  async function follow(request: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer> {
    const { method = "GET", headers = {}, body, maxBytes, check } = request;
    const mostRedirects = method === "GET" ? (request.maxRedirects ?? 0) : 0;
    const first = parse(request.url);
    for (let url = first, hops = 0; ; hops += 1) {
      check?.(url);
      const answer = await visit({
        url,
        method,
        headers: url.origin === first.origin ? headers : {},
        body,
        maxBytes,
        proxy: options.proxy,
        signal,
      });
      const { location } = answer.headers;
      if (mostRedirects === 0 || !REDIRECTS.has(answer.status) || location === undefined) {
        return { ...answer, url: url.href };
      }
      if (hops === mostRedirects)
        throw new OutboundRefused("too_many_redirects", `more than ${mostRedirects} redirects`);
      const next = URL.parse(location, url.href);
      if (next === null) throw new OutboundRefused("malformed", "a redirect leads to no URL");
      url = parse(next.href);
    }
  }

  return {
    async fetch(request) {
      const signal = AbortSignal.any([
        AbortSignal.timeout(request.timeoutMs),
        ...(request.signal === undefined ? [] : [request.signal]),
      ]);
      try {
        return await follow(request, signal);
      } catch (error) {
        // The caller that aborted has the reason.
        request.signal?.throwIfAborted();
        throw error;
      }
    },
    assertAcceptable(url) {
      parse(url);
    },
  };
}

function portOf({ port, protocol }: URL): string {
  return port !== "" ? port : protocol === "https:" ? "443" : "80";
}

/** The same words whatever the address was: an answer reveals nothing of our network. */
function notPublic(): OutboundRefused {
  return new OutboundRefused("address", "the host is not one of the public internet");
}
