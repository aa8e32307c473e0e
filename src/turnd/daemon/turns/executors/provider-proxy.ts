import { BlockList, isIP } from "node:net";

type Environment = Readonly<Record<string, string>>;

/** The proxy through which an address is asked. */
export interface Proxy {
  /** With its protocol. */
  readonly address: string;
  /** The variable that names it, as people write it. */
  readonly variable: string;
}

/**
 * Chooses a proxy as CLI B does: the one for the address's protocol, `ALL_PROXY` where there is none, and none for a host
 * that `NO_PROXY` names. Each variable counts in small letters too, where it is not set in capitals, and empty is as not set.
 *
 * Source: docs/contracts/cli-b.md §11. Node's own choice differs: it knows no `ALL_PROXY`, and takes none instead of a kind that it cannot use.
 */
export function chooseProxy(url: string, env: Environment): Proxy | undefined {
  const { protocol, hostname } = new URL(url);
  const names = [protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY", "ALL_PROXY"];
  const variable = names.find((name) => read(env, name) !== "");
  if (variable === undefined || isExcepted(hostname.replace(/^\[(.*)\]$/, "$1"), read(env, "NO_PROXY")))
    return undefined;
  const given = read(env, variable);
  return { address: given.includes("://") ? given : `http://${given}`, variable };
}

function read(env: Environment, name: string): string {
  const values = [env[name], env[name.toLowerCase()]].map((value) => value?.trim() ?? "");
  return values.find((value) => value !== "") ?? "";
}

/** @param noProxy - `*`, names with all below them, addresses and networks, separated by commas */
function isExcepted(host: string, noProxy: string): boolean {
  const entries = noProxy.split(",").map((entry) => entry.trim().toLowerCase());
  return entries.some((entry) => {
    if (entry === host) return true;
    if (isIP(host) !== 0) return isWithin(host, entry);
    if (entry === "*") return true;
    const name = entry.replace(/^\./, "");
    return name !== "" && (host === name || host.endsWith(`.${name}`));
  });
}

function isWithin(address: string, network: string): boolean {
  const [, net = "", bits = ""] = /^([^/]+)\/(\d+)$/.exec(network) ?? [];
  const kind = isIP(net);
  if (kind === 0 || kind !== isIP(address) || Number(bits) > (kind === 4 ? 32 : 128)) return false;
  const type = kind === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(net, Number(bits), type);
  return list.check(address, type);
}
