import { lookup, Resolver } from "node:dns/promises";
import { OutboundFailed } from "./errors.ts";

/** All addresses of a name. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

const TRY_MS = 2_000;
const TRIES = 2;

/**
 * Resolves names once, for a caller that checks the answer and connects to it.
 *
 * @param servers - `address:port` of the name servers to ask; none: as the system resolves
 */
export function createResolve(servers: readonly string[]): Resolve {
  return async (name, signal) => {
    // Loopback by definition (RFC 6761): no name server is asked.
    if (/(^|\.)localhost\.?$/.test(name)) return ["127.0.0.1", "::1"];
    const addresses = await abortable(servers.length === 0 ? askSystem(name) : askServers(name, servers), signal);
    if (addresses.length === 0) throw new OutboundFailed("dns", "the name does not resolve");
    return addresses;
  };
}

async function askSystem(name: string): Promise<string[]> {
  try {
    return (await lookup(name, { all: true })).map(({ address }) => address);
  } catch (error) {
    throw new OutboundFailed("dns", "the name does not resolve", { cause: error });
  }
}

async function askServers(name: string, servers: readonly string[]): Promise<string[]> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  resolver.setServers([...servers]);
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  // A name may have addresses of one kind only: the other question fails then.
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}

/** The system's resolver cannot be stopped; its late answer is of no use then. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
