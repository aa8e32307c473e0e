import type { McpServers } from "../../../protocol/index.ts";
import { secretsIn, secretsInArguments } from "./secret-values.ts";

/** The secrets in a request's MCP servers, by the rules that hold for those of the operator's configuration. */
export function secretsOfServers(servers: McpServers): string[] {
  const found = Object.values(servers).flatMap((server) => {
    switch (server.type) {
      case "http":
        return [...secretsIn("", server.url), ...secretsInTable(server.headers)];
      case "stdio":
        return [...secretsInArguments([server.command, ...(server.args ?? [])]), ...secretsInTable(server.env)];
    }
  });
  return [...new Set(found)];
}

function secretsInTable(table: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(table).flatMap(([name, value]) => secretsIn(name, value));
}
