import { isIP } from "node:net";

/** The name in a `Host`, in lower case and without its port; undefined for an invalid one. */
export function readHostName(host: string | undefined): string | undefined {
  const url = host === undefined ? null : URL.parse(`http://${host}`);
  return url !== null && url.pathname === "/" && url.username === "" ? url.hostname : undefined;
}

/** Whether a name is an IP address, which needs no lookup. */
export function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

/** Whether a name leads to this machine wherever it is resolved. @see RFC 6761 section 6.3 for names in `.localhost` */
export function isLoopback(name: string): boolean {
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return name === "::1" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
}

/**
 * Whether a page comes from the request's host. Another port of the same machine is another program, such as a server
 * of an agent.
 */
export function isSameHost(origin: string, host: string | undefined): boolean {
  const from = URL.parse(origin);
  if (from === null || host === undefined) return false;
  return from.host !== "" && from.host === URL.parse(`${from.protocol}//${host}`)?.host;
}

/** A header as a refusal quotes it: long ones are cut. */
export function quoteHeader(value: string | undefined): string {
  return value === undefined ? "none" : JSON.stringify(value.slice(0, 200));
}
