import { defined } from "../../../../../kit/defined.ts";
import type { McpServer, McpServers } from "../../../../protocol/index.ts";
import { asTable, type TomlTable } from "./toml.ts";

/**
 * Adds a request's MCP servers to a configuration; one of the same name is replaced.
 *
 * @param userHome - HOME of the programs that name no other; the CLI's own is another
 */
export function addServers(config: TomlTable, servers: McpServers, userHome?: string): TomlTable {
  if (Object.keys(servers).length === 0) return config;
  const added = Object.entries(servers).map(([name, server]) => [name, toEntry(server, userHome)]);
  return { ...config, mcp_servers: { ...asTable(config["mcp_servers"]), ...Object.fromEntries(added) } };
}

/** Nobody can approve a call, and without this every one is "cancelled by the user" where there is a sandbox (measured on 0.139.0). */
const APPROVED = { default_tools_approval_mode: "approve" } as const;

/** Of the CLI's environment a program gets only what is named: the trace that its turn belongs to. */
const INHERITED = { env_vars: ["TRACEPARENT"] } as const;

function toEntry(server: McpServer, userHome: string | undefined): TomlTable {
  switch (server.type) {
    case "http":
      return { url: server.url, http_headers: server.headers ?? {}, ...APPROVED };
    case "stdio":
      return {
        command: server.command,
        args: server.args ?? [],
        env: { ...defined({ HOME: userHome }), ...server.env },
        ...INHERITED,
        ...APPROVED,
      };
  }
}
