import type { Environment } from "../../kit/command-line/terminal.ts";

const VARIABLES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
/** A service of this machine is never behind a proxy. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Lets `fetch` take the proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name; without them nothing is loaded.
 *
 * Node's own fetch reads these from Node 22.21 on, and only where a switch of its start says so.
 */
export async function useProxyOf(env: Environment["env"]): Promise<void> {
  if (!VARIABLES.some((name) => (env[name] ?? "") !== "")) return;
  const { EnvHttpProxyAgent, install, setGlobalDispatcher } = await import("undici");
  install();
  const noProxy = [env["no_proxy"] ?? env["NO_PROXY"] ?? "", ...LOOPBACK].filter((name) => name !== "").join(",");
  setGlobalDispatcher(new EnvHttpProxyAgent({ noProxy }));
}
