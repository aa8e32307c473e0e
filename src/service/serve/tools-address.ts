import type { ProcessRole } from "./service-options.ts";
import type { Settings } from "../settings/settings.ts";

const LOOPBACK_HOSTS = new Set(["127.0.0.1", "[::1]", "localhost"]);
const EVERYWHERE = new Set(["0.0.0.0", "::", "localhost"]);

/** Where the CLIs of a sandbox reach this service. */
export interface ToolsAddress {
  /** Resolves once it is known: a port that was picked is, when the API listens. Undefined when it is not configured. */
  url(): Promise<URL | undefined>;
  /** Called with the address at which the API listens; undefined where this process has none. */
  listens(url: string | undefined): void;
}

/** By the settings; where turns run on this machine, loopback. */
export function createToolsAddress(settings: Settings, role: ProcessRole): ToolsAddress {
  const { values } = settings;
  const { promise: listening, resolve } = Promise.withResolvers<string | undefined>();
  return {
    listens: resolve,
    async url() {
      if (values.SERVICE_TOOLS_URL !== undefined) return values.SERVICE_TOOLS_URL;
      if (role === "worker" || !isOnThisMachine(settings)) return values.SERVICE_PUBLIC_URL;
      if (values.SERVICE_PORT !== 0) return new URL(`http://${nameOf(values.SERVICE_HOST)}:${values.SERVICE_PORT}`);
      const url = await listening;
      return url === undefined ? undefined : new URL(url);
    },
  };
}

/** Whether turns run here. */
function isOnThisMachine({ values }: Settings): boolean {
  switch (values.SERVICE_SANDBOX) {
    case "embedded":
      return true;
    case "static":
      return values.SERVICE_TURND_URLS.every((url) => LOOPBACK_HOSTS.has(new URL(url).hostname));
    case "docker":
    case "kubernetes":
      return false;
  }
}

function nameOf(host: string): string {
  if (EVERYWHERE.has(host)) return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
