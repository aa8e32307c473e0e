import type { Permissions } from "../../../../protocol/index.ts";

/**
 * What is denied, as pairs for `-c`. `edit` is the sandbox's part; MCP servers of the operator's file run outside it and are not
 * touched.
 */
export function permissionPairs({ execute, network }: Permissions): string[] {
  return [
    ...(execute === "deny" ? ["features.shell_tool=false", "features.unified_exec=false"] : []),
    ...(network === "deny" ? ["sandbox_workspace_write.network_access=false", 'web_search="disabled"'] : []),
  ];
}
