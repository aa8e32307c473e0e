import ipaddr from "ipaddr.js";

/** IPv6 that is routed on the internet; what is outside is special or not assigned. Source: IANA, RFC 4291. */
const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3");

/** Azure's WireServer: it looks public, answers every machine there, and hands out its secrets. Source: Azure's documentation. */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(["168.63.129.16"]);

/**
 * Whether an address is one of the public internet.
 *
 * Loopback, private, link-local (with it the metadata services of clouds), platform addresses of clouds, shared, multicast, reserved, IPv4 in IPv6
 * (mapped, 6to4, NAT64, Teredo) and what cannot be read are not.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast" || PLATFORM_ADDRESSES.has(address.toString())) return false;
  return address.kind() === "ipv4" || address.match(GLOBAL_UNICAST);
}

/** The address that a URL's host is, or undefined where it is a name. */
export function addressInHost(hostname: string): string | undefined {
  // WHATWG parsing has made every spelling of an IPv4 address (octal, hex, one number) the usual one.
  const text = hostname.replace(/^\[(.*)\]$/, "$1");
  return ipaddr.isValid(text) ? text : undefined;
}
