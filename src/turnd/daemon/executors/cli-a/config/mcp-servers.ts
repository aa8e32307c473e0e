import type { McpServer, McpServers } from "../../../../protocol/index.ts";
import { CliAConfig } from "./details.ts";

/** Adds a request's MCP servers to a configuration; one of the same name is replaced. What is no table the CLI refuses. */
export function addServers(config: CliAConfig, servers: McpServers): CliAConfig {
  const own = CliAConfig.safeParse(config["mcp"] ?? {}).data;
  if (own === undefined || Object.keys(servers).length === 0) return config;
  const added = Object.entries(servers).map(([name, server]) => [name, toEntry(server)]);
  return { ...config, mcp: { ...own, ...Object.fromEntries(added) } };
}

function toEntry(server: McpServer): CliAConfig {
  switch (server.type) {
    case "http":
      // Nobody can log in during a turn: a server that answers 401 is one that refuses.
      return { type: "remote", enabled: true, url: server.url, headers: server.headers ?? {}, oauth: false };
    case "stdio":
      return {
        type: "local",
        enabled: true,
        command: [server.command, ...(server.args ?? [])],
        environment: server.env ?? {},
      };
  }
}
